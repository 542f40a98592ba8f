import type { Database } from '../db/database.ts'
import { DeliveryIds } from '../delivery/delivery-ids.ts'
import type { DestinationRoutes } from '../delivery/destination-routes.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'
import { ListIndex } from '../ledger/list-index.ts'
import { PayloadIndex } from '../ledger/payload-index.ts'
import { noteDifferingSubmissions } from '../ledger/store.ts'
import { visitorKeysOf } from '../ledger/visitor-keys.ts'
import { findWithdrawals } from '../ledger/withdrawal-store.ts'
import type { Platform } from '../platforms/platform.ts'
import { type ErasureKeySource, ErasureWatch } from './erasure-watch.ts'
import type { EventDraft } from './event-draft.ts'
import { type PlanGrounds, planEvent } from './plan-event.ts'
import { insertEvents, ledgerKey } from './store.ts'

export interface CommitContext {
  database: Database
  platform: Platform
  routes: DestinationRoutes
  /** Asked for as soon as a tracker has erased a person. */
  erasureKey: ErasureKeySource
  /** Deliveries were planned: wake the workers that send them. */
  onPlanned: () => void
  /** Book-keeping about repeated events failed; the events themselves are safe. */
  onNoteError: (error: unknown) => void
}

export interface CommitOutcome {
  isNew: boolean
}

/** Makes the function that commits a group of drafts in one transaction, for `GroupCommit`. */
export function eventCommitter(
  context: CommitContext,
): (drafts: readonly EventDraft[]) => Promise<CommitOutcome[]> {
  const ids = new DeliveryIds(context.database)
  const erasures = new ErasureWatch(context.database, context.erasureKey)
  const index = new PayloadIndex(context.database)
  const lists = new ListIndex(context.database)
  return drafts => commitEvents({ ...context, ids, erasures, index, lists }, drafts)
}

interface Committer extends CommitContext {
  ids: DeliveryIds
  erasures: ErasureWatch
  index: PayloadIndex
  lists: ListIndex
}

async function commitEvents(
  context: Committer,
  drafts: readonly EventDraft[],
): Promise<CommitOutcome[]> {
  const firsts = firstOfEachKey(drafts)
  const inserted = await storeAll(context, firsts)

  const outcomes = drafts.map(draft => {
    const key = ledgerKey(draft)
    return { isNew: inserted.has(key) && firsts.get(key) === draft }
  })
  const repeated = drafts.filter((_, index) => outcomes[index]?.isNew === false)
  if (repeated.length > 0) await noteRepeated(context, repeated)
  return outcomes
}

/** The same id twice in one group: the first one is stored, as if they had come one by one. */
function firstOfEachKey(drafts: readonly EventDraft[]): Map<string, EventDraft> {
  const firsts = new Map<string, EventDraft>()
  for (const draft of drafts) {
    const key = ledgerKey(draft)
    if (!firsts.has(key)) firsts.set(key, draft)
  }
  return firsts
}

/** Erasures are not requested fast enough to need more rounds. */
const ROUNDS_MAX = 8

type DraftGrounds = (draft: EventDraft) => Pick<PlanGrounds, 'withdrawnAt' | 'erasure'>

/**
 * Stores the drafts as if no one had withdrawn consent or been erased; the statement leaves out
 * those for whom that is wrong, and they are stored again with what is known of them.
 */
async function storeAll(context: Committer, drafts: Map<string, EventDraft>): Promise<Set<string>> {
  const { database, erasures, index, lists, onPlanned } = context
  const inserted = new Set<string>()
  let hasPlanned = false
  let left = drafts
  let groundsOf: DraftGrounds = draft => ({
    withdrawnAt: 'unasked',
    erasure: erasures.presume(draft),
  })
  for (let round = 1; left.size > 0; round += 1) {
    if (round > ROUNDS_MAX) throw new Error('the people of a group are erased again and again')
    const plan = await planAll(context, left, groundsOf)
    const stored = await insertEvents(database, plan.entries, plan.deliveries)
    for (const key of stored.inserted) inserted.add(key)
    lists.stored(plan.entries)
    hasPlanned ||= plan.deliveries.length > 0
    left = new Map([...left].filter(([key]) => stored.misjudged.has(key)))
    if (left.size > 0) groundsOf = await knownGrounds(context, [...left.values()])
  }
  index.stored(inserted.size)
  if (hasPlanned && inserted.size > 0) onPlanned()
  return inserted
}

async function knownGrounds(
  { database, erasures }: Committer,
  drafts: readonly EventDraft[],
): Promise<DraftGrounds> {
  const latest = await findWithdrawals(database, drafts.flatMap(visitorsOf))
  const erasureOf = await erasures.ask(drafts)
  return draft => ({
    withdrawnAt: latest(draft.trackerId, visitorKeysOf(draft)),
    erasure: erasureOf(draft),
  })
}

async function planAll(
  { platform, routes, ids }: Committer,
  drafts: Map<string, EventDraft>,
  groundsOf: DraftGrounds,
): Promise<{ entries: LedgerEntry[]; deliveries: PlannedDelivery[] }> {
  const entries: LedgerEntry[] = []
  const deliveries: PlannedDelivery[] = []
  // In the order of receipt, which keys begin with: their pages of an index fill up.
  for (const draft of [...drafts.values()].sort(byReceipt)) {
    const { trackerId, eventTime, actionSource } = draft
    const trackerRoutes = await routes.of(trackerId)
    await ids.reserve(trackerId, Math.max(1, trackerRoutes.length))
    const seconds = platform.windowSeconds(actionSource)
    const plan = planEvent(draft, {
      ...groundsOf(draft),
      routes: trackerRoutes,
      windowEndsAt: new Date(eventTime.getTime() + seconds * 1_000),
      nextDeliveryId: () => ids.take(trackerId),
    })
    entries.push(plan.entry)
    deliveries.push(...plan.deliveries)
  }
  return { entries, deliveries }
}

function byReceipt(one: EventDraft, other: EventDraft): number {
  const milliseconds = one.receivedAt.getTime() - other.receivedAt.getTime()
  if (milliseconds !== 0 || one.eventId === other.eventId) return milliseconds
  return one.eventId < other.eventId ? -1 : 1
}

function visitorsOf(draft: EventDraft): { trackerId: string; visitorId: string }[] {
  return visitorKeysOf(draft).map(visitorId => ({ trackerId: draft.trackerId, visitorId }))
}

/** The answer is the same for a repeated body and for another one; the trace tells them apart. */
async function noteRepeated(
  { database, onNoteError }: CommitContext,
  drafts: readonly EventDraft[],
): Promise<void> {
  const submissions = drafts.map(({ trackerId, space, eventId, bodyDigest, receivedAt }) => ({
    trackerId,
    space,
    eventId,
    bodyDigest,
    at: receivedAt,
  }))
  await noteDifferingSubmissions(database, submissions).catch(onNoteError)
}
