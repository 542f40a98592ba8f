import type { Database } from '../db/database.ts'
import type { StoreNodes } from '../db/store-nodes.ts'
import { DeliveryIdAllocator } from '../delivery/delivery-id-store.ts'
import type { DestinationRouteCache } from '../delivery/destination-route-store.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import type { EventRecord } from '../events/event-record.ts'
import { ListPositionIndexer } from '../events/list-position-store.ts'
import { PayloadIndexMerger } from '../events/payload-index-store.ts'
import { listVisitorKeys } from '../events/person-identifiers.ts'
import { recordDifferingSubmissions } from '../events/store.ts'
import { findWithdrawals } from '../events/suppression-store.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import type { Platform } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import type { CommitHealth } from './commit-health.ts'
import { ErasureCheck, type ErasureKeyProvider } from './erasure-check.ts'
import type { EventDraft } from './event-draft.ts'
import { type CommitQueue, GroupCommit } from './group-commit.ts'
import { GroupCommitPerNode } from './group-commit-per-node.ts'
import { type PlanInput, planEvent } from './plan-event.ts'
import { formatEventKey, insertEvents } from './store.ts'

interface CommitterContext {
  database: Database
  platforms: PlatformRegistry
  routes: DestinationRouteCache
  /** Asked for as soon as a tracker has erased a person. */
  erasureKey: ErasureKeyProvider
  /** Deliveries were planned: wake the workers that send them. */
  onDeliveriesPlanned: () => void
  /** Book-keeping about repeated events failed; the events themselves are safe. */
  onDuplicateRecordError: (error: unknown) => void
}

export interface CommitOutcome {
  isNew: boolean
}

/** Makes the function that commits a group of drafts in one transaction, for `GroupCommit`. */
export function createEventCommitter(
  context: CommitterContext,
): (drafts: readonly EventDraft[]) => Promise<CommitOutcome[]> {
  const ids = new DeliveryIdAllocator(context.database)
  const erasures = new ErasureCheck(context.database, context.erasureKey)
  const index = new PayloadIndexMerger(context.database)
  const lists = new ListPositionIndexer(context.database)
  return drafts => commitEvents({ ...context, ids, erasures, index, lists }, drafts)
}

interface EventCommitter extends CommitterContext {
  ids: DeliveryIdAllocator
  erasures: ErasureCheck
  index: PayloadIndexMerger
  lists: ListPositionIndexer
}

async function commitEvents(
  context: EventCommitter,
  drafts: readonly EventDraft[],
): Promise<CommitOutcome[]> {
  const firsts = selectFirstByKey(drafts)
  const inserted = await storeDrafts(context, firsts)

  const outcomes = drafts.map(draft => {
    const key = formatEventKey(draft)
    return { isNew: inserted.has(key) && firsts.get(key) === draft }
  })
  const repeated = drafts.filter((_, index) => outcomes[index]?.isNew === false)
  if (repeated.length > 0) await recordDuplicates(context, repeated)
  return outcomes
}

/** The same id twice in one group: the first one is stored, as if they had come one by one. */
function selectFirstByKey(drafts: readonly EventDraft[]): Map<string, EventDraft> {
  const firsts = new Map<string, EventDraft>()
  for (const draft of drafts) {
    const key = formatEventKey(draft)
    if (!firsts.has(key)) firsts.set(key, draft)
  }
  return firsts
}

/** Erasures are not requested fast enough to need more rounds. */
const CONFLICT_ROUNDS_MAX = 8

type PersonStateLookup = (draft: EventDraft) => Pick<PlanInput, 'withdrawnAt' | 'erasure'>

/**
 * Stores the drafts as if no one had withdrawn consent or been erased; the statement leaves out
 * those for whom that is wrong, and they are stored again with what is known of them.
 */
async function storeDrafts(
  context: EventCommitter,
  drafts: Map<string, EventDraft>,
): Promise<Set<string>> {
  const { database, erasures, index, lists, onDeliveriesPlanned: onPlanned } = context
  const inserted = new Set<string>()
  let hasPlanned = false
  let left = drafts
  let groundsOf: PersonStateLookup = draft => ({
    withdrawnAt: 'unasked',
    erasure: erasures.assumeState(draft),
  })
  for (let round = 1; left.size > 0; round += 1) {
    if (round > CONFLICT_ROUNDS_MAX)
      throw new Error('the people of a group are erased again and again')
    const plan = await planDrafts(context, left, groundsOf)
    const stored = await insertEvents(database, plan.entries, plan.deliveries)
    for (const key of stored.newKeys) inserted.add(key)
    lists.recordStored(plan.entries)
    hasPlanned ||= plan.deliveries.length > 0
    left = new Map([...left].filter(([key]) => stored.conflictingKeys.has(key)))
    if (left.size > 0) groundsOf = await fetchPersonStates(context, [...left.values()])
  }
  index.recordStored(inserted.size)
  if (hasPlanned && inserted.size > 0) onPlanned()
  return inserted
}

async function fetchPersonStates(
  { database, erasures }: EventCommitter,
  drafts: readonly EventDraft[],
): Promise<PersonStateLookup> {
  const latest = await findWithdrawals(database, drafts.flatMap(listVisitors))
  const erasureOf = await erasures.fetchStates(drafts)
  return draft => ({
    withdrawnAt: latest(draft.trackerId, listVisitorKeys(draft)),
    erasure: erasureOf(draft),
  })
}

async function planDrafts(
  { platforms, routes, ids }: EventCommitter,
  drafts: Map<string, EventDraft>,
  groundsOf: PersonStateLookup,
): Promise<{ entries: EventRecord[]; deliveries: PlannedDelivery[] }> {
  const entries: EventRecord[] = []
  const deliveries: PlannedDelivery[] = []
  // In the order of receipt, which keys begin with: their pages of an index fill up.
  for (const draft of [...drafts.values()].sort(compareByReceipt)) {
    const { trackerId } = draft
    const trackerRoutes = await routes.get(trackerId)
    await ids.reserve(trackerId, Math.max(1, trackerRoutes.length))
    const plan = planEvent(draft, {
      ...groundsOf(draft),
      routes: trackerRoutes,
      windowEndsAt: name => platformWindowEnd(platforms.find(name), draft),
      nextDeliveryId: () => ids.take(trackerId),
    })
    entries.push(plan.entry)
    deliveries.push(...plan.deliveries)
  }
  return { entries, deliveries }
}

/** Where no plug-in of this process has the name, the process that sends the event decides. */
function platformWindowEnd(
  platform: Platform | null,
  { eventTime, actionSource }: EventDraft,
): Date | null {
  if (!platform) return null
  return new Date(eventTime.getTime() + platform.windowSeconds(actionSource) * 1_000)
}

function compareByReceipt(one: EventDraft, other: EventDraft): number {
  const milliseconds = one.receivedAt.getTime() - other.receivedAt.getTime()
  if (milliseconds !== 0 || one.eventId === other.eventId) return milliseconds
  return one.eventId < other.eventId ? -1 : 1
}

function listVisitors(draft: EventDraft): { trackerId: string; visitorId: string }[] {
  return listVisitorKeys(draft).map(visitorId => ({ trackerId: draft.trackerId, visitorId }))
}

/** The answer is the same for a repeated body and for another one; the trace tells them apart. */
async function recordDuplicates(
  { database, onDuplicateRecordError: onNoteError }: CommitterContext,
  drafts: readonly EventDraft[],
): Promise<void> {
  const submissions = drafts.map(({ trackerId, space, eventId, bodyDigest, receivedAt }) => ({
    trackerId,
    space,
    eventId,
    bodyDigest,
    at: receivedAt,
  }))
  await recordDifferingSubmissions(database, submissions).catch(onNoteError)
}

/** Events that were committed together. */
export interface CommittedGroup {
  eventCount: number
  /** The others were there already. */
  newCount: number
  seconds: number
}

interface EventCommitsOptions {
  nodes: StoreNodes
  database: Database
  platforms: PlatformRegistry
  routes: DestinationRouteCache
  erasureKey: ErasureKeyProvider
  health: CommitHealth
  logger: ServiceLogger
  commitEventsMax: number
  ingestQueueMax: number
  /** Deliveries were planned: wake the workers that send them. */
  onDeliveriesPlanned: () => void
  /** For counting. */
  onCommitted?: ((group: CommittedGroup) => void) | undefined
}

/** Commits events in groups: one at a time on one PostgreSQL, or at each node of a cluster. */
export function createEventCommits(
  options: EventCommitsOptions,
): CommitQueue<EventDraft, CommitOutcome> {
  const { nodes, database, health, logger, onCommitted } = options
  const onNoteError = (err: unknown) => logger.warn({ err }, 'a repeated submission was not noted')
  const committerOf = (node: Database) => {
    const commit = createEventCommitter({
      ...options,
      database: node,
      onDuplicateRecordError: onNoteError,
    })
    return health.trackCommits(onCommitted ? measureCommits(commit, onCommitted) : commit)
  }
  const bounds = { itemsMax: options.commitEventsMax, queueMax: options.ingestQueueMax }
  if (!nodes.isCluster) return new GroupCommit({ commit: committerOf(database), ...bounds })
  return new GroupCommitPerNode({ nodeOf: id => nodes.findNode(id), committerOf, ...bounds })
}

type CommitFunction = ReturnType<typeof createEventCommitter>

/** The same commits, each told of once it is durable. */
function measureCommits(
  commit: CommitFunction,
  onCommitted: (group: CommittedGroup) => void,
): CommitFunction {
  return async drafts => {
    const start = performance.now()
    const outcomes = await commit(drafts)
    const newCount = outcomes.filter(({ isNew }) => isNew).length
    const seconds = (performance.now() - start) / 1_000
    onCommitted({ eventCount: drafts.length, newCount, seconds })
    return outcomes
  }
}
