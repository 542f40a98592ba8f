import type { Database } from '../../runtime/db/database.ts'
import { isShardDivided } from '../../runtime/db/database-errors.ts'
import type { StoreActivity } from '../delivery/destination-queue-store.ts'
import {
  DeliveryIdAllocator,
  type DestinationRouteCache,
  type PlannedDelivery,
} from '../delivery/plan-store.ts'
import { isRestatement } from '../delivery/restate-orders.ts'
import { needsPlatformName } from '../delivery/routing.ts'
import type { EventRecord } from '../events/event-record.ts'
import { recordDifferingSubmissions } from '../events/event-store.ts'
import { ListPositionIndexer } from '../events/list-position-store.ts'
import { PayloadIndexMerger } from '../events/payload-index-store.ts'
import type { ErasureKeyProvider } from '../events/person-identifiers.ts'
import { listClickIdNames } from '../identity/click-ids.ts'
import type { Platform } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { formatEventKey, insertEvents } from './commit-store.ts'
import type { EventDraft } from './event-draft.ts'
import { PersonCheck, type PersonStateLookup } from './person-check.ts'
import { planEvent } from './plan-event.ts'

interface CommitterContext {
  database: Database
  platforms: PlatformRegistry
  routes: DestinationRouteCache
  /** Called once a tracker has erased a person, or has a withdrawal under a keyed digest. */
  erasureKey: ErasureKeyProvider
  /** Tells delivery workers and live views. */
  onEventsStored: (activity: StoreActivity) => void
  /** Called when a duplicate could not be recorded. The events themselves are stored. */
  onDuplicateRecordError: (error: unknown) => void
}

export interface CommitOutcome {
  isNew: boolean
  /** Set for a duplicate whose body is known to differ from the stored one. */
  isDiffering?: true
}

/** Returns the function that commits a group of drafts in one transaction, for `GroupCommit`. */
export function createEventCommitter(
  context: CommitterContext,
): (drafts: readonly EventDraft[]) => Promise<CommitOutcome[]> {
  const ids = new DeliveryIdAllocator(context.database)
  const people = new PersonCheck(context.database, context.erasureKey)
  const payloadIndex = new PayloadIndexMerger(context.database)
  const listIndex = new ListPositionIndexer(context.database)
  return drafts => commitEvents({ ...context, ids, people, payloadIndex, listIndex }, drafts)
}

interface EventCommitter extends CommitterContext {
  ids: DeliveryIdAllocator
  people: PersonCheck
  payloadIndex: PayloadIndexMerger
  listIndex: ListPositionIndexer
}

async function commitEvents(
  context: EventCommitter,
  drafts: readonly EventDraft[],
): Promise<CommitOutcome[]> {
  const firsts = selectFirstByKey(drafts)
  const inserted = await storeDrafts(context, firsts)
  if (inserted.size === drafts.length) return drafts.map(() => ({ isNew: true }))

  const isNew = (draft: EventDraft) => {
    const key = formatEventKey(draft)
    return inserted.has(key) && firsts.get(key) === draft
  }
  const duplicates = drafts.filter(draft => !isNew(draft))
  const differing = await recordDuplicates(context, duplicates)
  return drafts.map(draft =>
    differing.has(draft) ? { isNew: false, isDiffering: true } : { isNew: isNew(draft) },
  )
}

/** If a group has an event ID twice, the first draft is stored and the second is a duplicate. */
function selectFirstByKey(drafts: readonly EventDraft[]): Map<string, EventDraft> {
  const firsts = new Map<string, EventDraft>()
  for (const draft of drafts) {
    const key = formatEventKey(draft)
    if (!firsts.has(key)) firsts.set(key, draft)
  }
  return firsts
}

/** Erasures are too rare to cause more conflicts than this for one group. */
const CONFLICT_ROUNDS_MAX = 8

/**
 * Stores the drafts optimistically, assuming that no visitor withdrew consent or was erased. The
 * insert leaves out events for which that is wrong. The next round looks up their withdrawals and
 * erasures and stores them accordingly.
 */
async function storeDrafts(
  context: EventCommitter,
  drafts: Map<string, EventDraft>,
): Promise<Set<string>> {
  const { payloadIndex, listIndex, onEventsStored } = context
  const inserted = new Set<string>()
  let hasDeliveries = false
  let remaining = drafts
  for (let round = 1; remaining.size > 0; round += 1) {
    if (round > CONFLICT_ROUNDS_MAX) {
      throw new Error(`events still conflict with erasures after ${CONFLICT_ROUNDS_MAX} rounds`)
    }
    const store = () => storeRound(context, remaining, round === 1)
    // Nothing of the round was stored, and the next plan finds the parts of the shard.
    const { records, deliveries, newKeys, conflictingKeys } = await store().catch(error => {
      if (isShardDivided(error)) return store()
      throw error
    })
    for (const key of newKeys) inserted.add(key)
    listIndex.recordStored(records)
    hasDeliveries ||= deliveries.length > 0
    remaining = new Map([...remaining].filter(([key]) => conflictingKeys.has(key)))
  }
  payloadIndex.recordStored(inserted.size)
  if (inserted.size > 0) {
    const trackerIds = new Set([...drafts.values()].map(({ trackerId }) => trackerId))
    onEventsStored({ trackerIds, hasDueDeliveries: hasDeliveries })
  }
  return inserted
}

async function storeRound(
  context: EventCommitter,
  drafts: Map<string, EventDraft>,
  isOptimistic: boolean,
) {
  const { database, people } = context
  const stateOf: PersonStateLookup = isOptimistic
    ? draft => people.assumeState(draft)
    : await people.fetchStates([...drafts.values()])
  const plan = await planDrafts(context, drafts, stateOf)
  return { ...plan, ...(await insertEvents(database, plan.records, plan.deliveries)) }
}

async function planDrafts(
  { platforms, routes, ids }: EventCommitter,
  drafts: Map<string, EventDraft>,
  stateOf: PersonStateLookup,
): Promise<{ records: EventRecord[]; deliveries: PlannedDelivery[] }> {
  const records: EventRecord[] = []
  const deliveries: PlannedDelivery[] = []
  const byTracker = Map.groupBy(drafts.values(), ({ trackerId }) => trackerId)
  const routesOf = await routes.getMany(byTracker.keys())
  const idCounts = [...byTracker].map(
    ([trackerId, own]) =>
      [trackerId, own.length * Math.max(1, routesOf.get(trackerId)?.length ?? 0)] as const,
  )
  await ids.reserve(new Map(idCounts))
  // Index keys begin with the time of receipt; inserting in that order fills the index pages.
  for (const draft of [...drafts.values()].sort(compareByReceipt)) {
    const { trackerId } = draft
    const plan = planEvent(draft, {
      ...stateOf(draft),
      routes: routesOf.get(trackerId) ?? [],
      windowEndsAt: name => platformWindowEnd(platforms.find(name), draft),
      needsPlatformName: name => needsPlatformName(platforms.find(name), draft.eventName),
      clickIdNames: name => {
        const vendor = platforms.find(name)?.consentNeeds.vendor ?? null
        return vendor === null ? [] : listClickIdNames(new Set([vendor]))
      },
      restatesValue: name => isRestatement(draft.eventName, platforms.find(name)),
      nextDeliveryId: () => ids.take(trackerId),
    })
    records.push(plan.record)
    deliveries.push(...plan.deliveries)
  }
  return { records, deliveries }
}

/** Null for a platform unknown to this process: the process that sends the event decides. */
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

/** Returns the duplicates whose body differs; none when they could not be compared. */
async function recordDuplicates(
  { database, onDuplicateRecordError }: CommitterContext,
  drafts: readonly EventDraft[],
): Promise<ReadonlySet<EventDraft>> {
  const submissions = drafts.map(draft => {
    const { trackerId, space, eventId, bodyDigest, earlierBodyDigest, receivedAt: at } = draft
    return { trackerId, space, eventId, bodyDigest, earlierBodyDigest, at, draft }
  })
  const recorded = recordDifferingSubmissions(database, submissions)
  const differing = await recorded.catch(error => {
    onDuplicateRecordError(error)
    return []
  })
  return new Set(differing.map(({ draft }) => draft))
}
