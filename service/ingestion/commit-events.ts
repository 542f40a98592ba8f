import type { Database } from '../db/database.ts'
import { DeliveryIds } from '../delivery/delivery-ids.ts'
import type { DestinationRoutes } from '../delivery/destination-routes.ts'
import type { PlannedDelivery } from '../delivery/plan-store.ts'
import type { LedgerEntry } from '../ledger/ledger-entry.ts'
import { noteDifferingSubmissions } from '../ledger/store.ts'
import { visitorKeysOf } from '../ledger/visitor-keys.ts'
import { findWithdrawals } from '../ledger/withdrawal-store.ts'
import type { Platform } from '../platforms/platform.ts'
import type { EventDraft } from './event-draft.ts'
import { type PlanGrounds, planEvent } from './plan-event.ts'
import { insertEvents, ledgerKey } from './store.ts'

export interface CommitContext {
  database: Database
  platform: Platform
  routes: DestinationRoutes
  /** Deliveries were planned: wake whoever sends them. */
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
  return drafts => commitEvents(context, ids, drafts)
}

async function commitEvents(
  context: CommitContext,
  ids: DeliveryIds,
  drafts: readonly EventDraft[],
): Promise<CommitOutcome[]> {
  const firsts = firstOfEachKey(drafts)
  const inserted = await storeAll(context, ids, firsts)

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

/**
 * Stores the drafts as if nobody had withdrawn consent; the statement leaves out those for whom
 * that is wrong, and they are stored again with what is known of them.
 */
async function storeAll(
  context: CommitContext,
  ids: DeliveryIds,
  drafts: Map<string, EventDraft>,
): Promise<Set<string>> {
  const { database, onPlanned } = context
  const plan = await planAll(context, ids, { drafts, withdrawnAt: () => 'unasked' })
  const { inserted, withdrawn } = await insertEvents(database, plan.entries, plan.deliveries)
  if (withdrawn.size > 0) {
    const again = new Map([...drafts].filter(([key]) => withdrawn.has(key)))
    const latest = await findWithdrawals(database, [...again.values()].flatMap(visitorsOf))
    const withdrawnAt = (draft: EventDraft) => latest(draft.trackerId, visitorKeysOf(draft))
    const { entries, deliveries } = await planAll(context, ids, { drafts: again, withdrawnAt })
    const second = await insertEvents(database, entries, deliveries)
    for (const key of second.inserted) inserted.add(key)
  }
  if (plan.deliveries.length > 0 && inserted.size > 0) onPlanned()
  return inserted
}

interface Planning {
  drafts: Map<string, EventDraft>
  withdrawnAt: (draft: EventDraft) => PlanGrounds['withdrawnAt']
}

async function planAll(
  { platform, routes }: CommitContext,
  ids: DeliveryIds,
  { drafts, withdrawnAt }: Planning,
): Promise<{ entries: LedgerEntry[]; deliveries: PlannedDelivery[] }> {
  const entries: LedgerEntry[] = []
  const deliveries: PlannedDelivery[] = []
  // In the order of their keys: see `appendExpressions`.
  for (const key of [...drafts.keys()].sort()) {
    const draft = drafts.get(key) as EventDraft
    const { trackerId, eventTime, body } = draft
    const trackerRoutes = await routes.of(trackerId)
    await ids.reserve(trackerId, Math.max(1, trackerRoutes.length))
    const seconds = platform.windowSeconds(body.action_source ?? 'website')
    const plan = planEvent(draft, {
      withdrawnAt: withdrawnAt(draft),
      routes: trackerRoutes,
      windowEndsAt: new Date(eventTime.getTime() + seconds * 1_000),
      nextDeliveryId: () => ids.take(trackerId),
    })
    entries.push(plan.entry)
    deliveries.push(...plan.deliveries)
  }
  return { entries, deliveries }
}

function visitorsOf(draft: EventDraft): { trackerId: string; visitorId: string }[] {
  return visitorKeysOf(draft).map(visitorId => ({ trackerId: draft.trackerId, visitorId }))
}

/** The answer is the same for a repeated body and for another one; the trace tells them apart. */
async function noteRepeated(
  { database, onNoteError }: CommitContext,
  drafts: readonly EventDraft[],
): Promise<void> {
  const submissions = drafts.map(({ trackerId, eventId, bodyDigest, receivedAt }) => ({
    trackerId,
    eventId,
    bodyDigest,
    at: receivedAt,
  }))
  await noteDifferingSubmissions(database, submissions).catch(onNoteError)
}
