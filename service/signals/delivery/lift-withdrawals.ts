import {
  type LiftResult,
  LiftSubmission,
  type PageWithdrawalList,
  PageWithdrawalQuery,
  type PageWithdrawal as PageWithdrawalView,
  WITHDRAWALS_PER_PAGE,
} from '@signalbox/contract/withdrawals.ts'
import type { AuditActor } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { Validator } from '../../runtime/http/validator.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import { type EventRef, eventRefKey } from '../events/event-columns.ts'
import { findEventsByRef, type StoredEvent } from '../events/event-store.ts'
import { listFreeTextDigests } from '../events/free-text.ts'
import {
  findPageWithdrawals,
  findPageWithdrawalsById,
  liftPageWithdrawals,
  listPageWithdrawals,
  type PageWithdrawal,
} from '../events/page-withdrawal-store.ts'
import { findPayloadsByDigest, findPayloadsByVisitor } from '../events/payload-search-store.ts'
import {
  computeKeyedDigest,
  type ErasureKeyProvider,
  listWithdrawableDigests,
} from '../events/person-identifiers.ts'
import { findPersonWithdrawals, personOf, withdrawalsOf } from '../events/withdrawal-store.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { findDeliveries, type StoredDelivery } from './delivery-store.ts'
import { listDestinations, NO_ROUTING } from './destination-store.ts'
import { requeueStopped } from './lift-store.ts'
import {
  findStoredWithdrawalReason,
  WINDOW_MARGIN_SECONDS,
  windowEnd,
} from './review-deliveries.ts'
import { findUnselectedReason, toRoutedEvent } from './routing.ts'

const queryValidator = new Validator(PageWithdrawalQuery, { textMembers: ['visitor_id'] })

/** listWithdrawals: the withdrawals that pages sent. Throws a 422 refusal for an invalid query. */
export async function listWithdrawalsOfPages(
  database: Database,
  trackerId: string,
  query: unknown,
): Promise<PageWithdrawalList> {
  const { visitor_id, state, cursor } = queryValidator.validate(query)
  const isLifted = state === undefined ? null : state === 'lifted'
  if (visitor_id !== undefined) {
    const visitor = { trackerId, visitorId: visitor_id.trim() }
    const listed = (await findPageWithdrawals(database, visitor)).filter(
      ({ liftedAt }) => isLifted === null || isLifted === (liftedAt !== null),
    )
    return { withdrawals: listed.map(withdrawalView), next_cursor: null }
  }
  const limit = WITHDRAWALS_PER_PAGE + 1
  const search = { trackerId, isLifted, afterId: cursor ?? null, limit }
  const found = await listPageWithdrawals(database, search)
  const withdrawals = found.slice(0, WITHDRAWALS_PER_PAGE).map(withdrawalView)
  const hasMore = found.length > WITHDRAWALS_PER_PAGE
  return { withdrawals, next_cursor: hasMore ? (withdrawals.at(-1)?.id ?? null) : null }
}

function withdrawalView(withdrawal: PageWithdrawal): PageWithdrawalView {
  return {
    id: withdrawal.id,
    visitor_id: withdrawal.visitorId,
    platform: withdrawal.platform,
    event_id: withdrawal.eventId,
    origin: withdrawal.origin,
    reaches: withdrawal.reachesSecret ? 'all_events' : 'page_events',
    identifiers: withdrawal.identifiers,
    first_withdrawn_at: withdrawal.firstWithdrawnAt.toISOString(),
    withdrawn_at: withdrawal.withdrawnAt.toISOString(),
    lifted_at: withdrawal.liftedAt?.toISOString() ?? null,
    lift_reason: withdrawal.liftReason,
  }
}

export interface LiftContext extends AuditedContext {
  platforms: PlatformRegistry
  erasureKey: ErasureKeyProvider
  now: () => Date
}

interface LiftRequest {
  tracker: TrackerIdentity
  /** The key of the tracker, or the person. */
  actor: AuditActor
  body: unknown
}

const liftValidator = new Validator(LiftSubmission, { multilineMembers: ['reason'] })

/** Deliveries that one request queues. */
const QUEUED_MAX = 10_000
/** Events of one withdrawal that are searched: of its visitor, and of each of their identifiers. */
const EVENTS_MAX = 1_000

/**
 * liftWithdrawals: ends the effect of withdrawals that pages sent, and queues what only these had
 * stopped. The withdrawals are lifted first: a process that stops afterwards has lost the queueing
 * of some deliveries, which the same request repeats. Throws a 422 refusal that names every invalid
 * field. The caller wakes the workers.
 */
export async function liftWithdrawalsOfPages(
  context: LiftContext,
  { tracker, actor, body }: LiftRequest,
): Promise<LiftResult> {
  const { database, now } = context
  const { trackerId, workspaceId } = tracker
  const { withdrawal_ids, reason } = liftValidator.validate(body)
  const ids = withdrawal_ids.map(id => id.toLowerCase())
  const found = await findPageWithdrawalsById(database, trackerId, ids)
  const known = found.map(({ id }) => id)
  const at = now()
  const lifted = await commitAudited(context, async (transaction, record) => {
    const done = await liftPageWithdrawals(transaction, { trackerId, ids: known, reason, at })
    record({
      workspaceId,
      at,
      actor,
      action: 'withdrawals.lifted',
      subject: { type: 'tracker', id: trackerId },
      details: { withdrawal_ids: known, lifted: done.length },
    })
    return done
  })
  const { deliveries, ...counts } = await findReleased(context, { trackerId, found, at })
  const queued = await database.query.transaction().execute(transaction =>
    requeueStopped(database, { query: transaction } as Transaction, {
      trackerId,
      deliveries,
      at,
    }),
  )
  return {
    lifted: lifted.length,
    already_lifted: known.length - lifted.length,
    not_found: ids.filter(id => !known.includes(id)),
    queued,
    ...counts,
  }
}

interface ReleasedSearch {
  trackerId: string
  found: readonly PageWithdrawal[]
  at: Date
}

interface Released extends Pick<LiftResult, 'expired' | 'still_withheld' | 'capped'> {
  deliveries: StoredDelivery[]
}

/** The deliveries that only withdrawals of pages had stopped and that may be sent now. */
async function findReleased(
  { database, platforms, erasureKey }: LiftContext,
  { trackerId, found, at }: ReleasedSearch,
): Promise<Released> {
  const refs = await findReachedEvents({ database, erasureKey }, trackerId, found)
  const [events, stored, destinations] = await Promise.all([
    findEventsByRef(database, trackerId, refs),
    findDeliveries(database, trackerId, refs),
    listDestinations({ query: database.query }, trackerId),
  ])
  const routings = new Map(destinations.map(({ id, routing }) => [id, routing]))
  const named = new Set(found.map(({ platform }) => platform))
  const platformNames = [...new Set(destinations.map(({ platform }) => platform))]
  const people = new Map(
    events.flatMap(event => {
      const person = personOf(trackerId, event)
      return person ? [[eventRefKey(event), { ...person, platformNames }] as const] : []
    }),
  )
  const { latest } = await findPersonWithdrawals(database, [...people.values()], erasureKey)
  const eventsByKey = new Map(events.map(event => [eventRefKey(event), event]))
  const released: Released = { deliveries: [], expired: 0, still_withheld: 0, capped: false }
  for (const delivery of stored) {
    if (delivery.status !== 'skipped:consent') continue
    if (delivery.statusReason !== 'withdrawn_by_page' || delivery.destinationId === null) continue
    // A withdrawal for one platform stopped nothing of another.
    if (!named.has(null) && !named.has(delivery.platform)) continue
    const event = eventsByKey.get(eventRefKey(delivery)) as StoredEvent
    const person = people.get(eventRefKey(delivery))
    // Consent was decided before the routing, which has to select it too.
    const routing = routings.get(delivery.destinationId) ?? NO_ROUTING
    const isSelected = !findUnselectedReason(routing, toRoutedEvent(event, delivery.isTest))
    const withdrawn = person && withdrawalsOf(latest(person), delivery.platform ?? '')
    const isAllowed = withdrawn && !findStoredWithdrawalReason(event, withdrawn)
    if (!isAllowed || !isSelected) released.still_withheld += 1
    else if (isOutsideWindow(event, delivery, { platforms, at })) released.expired += 1
    else if (released.deliveries.length >= QUEUED_MAX) released.capped = true
    else released.deliveries.push(delivery)
  }
  return released
}

function isOutsideWindow(
  event: StoredEvent,
  { platform }: StoredDelivery,
  { platforms, at }: { platforms: PlatformRegistry; at: Date },
): boolean {
  const known = platform === null ? null : platforms.find(platform)
  if (!known) return false
  return at.getTime() >= windowEnd(event, known).getTime() - WINDOW_MARGIN_SECONDS * 1_000
}

/** The events of these visitors, and those with an identifier that events of theirs carry. */
async function findReachedEvents(
  { database, erasureKey }: Pick<LiftContext, 'database' | 'erasureKey'>,
  trackerId: string,
  withdrawals: readonly PageWithdrawal[],
): Promise<EventRef[]> {
  const refs = new Map<string, EventRef>()
  const digests = new Set<string>()
  for (const { visitorId, reachesSecret } of withdrawals) {
    const search = { trackerId, visitorId, limit: EVENTS_MAX }
    for (const payload of await findPayloadsByVisitor(database, search)) {
      refs.set(eventRefKey(payload), payload)
      if (reachesSecret) for (const one of listWithdrawableDigests(payload)) digests.add(one)
    }
  }
  if (digests.size === 0) return [...refs.values()]
  const key = await erasureKey()
  for (const digest of digests) {
    const freeTextDigest = computeKeyedDigest(key, trackerId, digest)
    const search = { trackerId, digest, freeTextDigest, limit: EVENTS_MAX }
    for (const payload of await findPayloadsByDigest(database, search)) {
      const isNamed =
        listWithdrawableDigests(payload).includes(digest) ||
        listFreeTextDigests(payload).includes(freeTextDigest)
      if (isNamed) refs.set(eventRefKey(payload), payload)
    }
  }
  return [...refs.values()]
}
