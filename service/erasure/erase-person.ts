import type { Database } from '../db/database.ts'
import { stopErasedDeliveries } from '../delivery/stop-erased-deliveries.ts'
import {
  type ErasablePayload,
  type ErasureCounts,
  eraseEvents,
  eraseSessionsAndWithdrawals,
  findPayloadsByDigest,
  findPayloadsByVisitor,
} from '../events/erase-store.ts'
import { eventRefKey } from '../events/event-ref.ts'
import { backfillIndexKeys } from '../events/payload-index-store.ts'
import {
  digestVisitorId,
  IDENTIFYING_KEYS,
  type IdentifyingKey,
  matchesPerson,
} from '../events/person-identifiers.ts'
import { findWithdrawnVisitors } from '../events/suppression-store.ts'
import { Refusal } from '../http/refusal.ts'

/** One person, by the digest of one identifier. */
interface ErasureSubject {
  trackerId: string
  digest: string
  /** What the digest may be a digest of. */
  keys: readonly IdentifyingKey[]
}

const PAGE_EVENTS = 1_000
/** 50,000 events a request; a person has dozens. */
const PAGES_MAX = 50
/** A hundred events a day for as long as payloads are kept. An id with more is not one person's. */
const VISITOR_EVENTS_MAX = 10_000
/** A household. A visitor id with more is a till, or a constant that the shop sends with all. */
const VISITOR_PEOPLE_MAX = 10

/**
 * Erases the events that name the person, and those of the same visitors that name no one else:
 * what the person looked at before they said who they are. The latter go first, since afterwards
 * nothing leads to them any more. Throws a 503 refusal when one request cannot do it all.
 */
export async function erasePerson(
  scope: ErasureContext,
  person: ErasureSubject,
): Promise<ErasureCounts> {
  const { trackerId, digest } = person
  const total: ErasureCounts = { events: 0, sessions: 0 }
  const visitors = new Set<string>()
  let after: ErasablePayload | null = null
  for (let pages = 0; ; pages += 1) {
    if (pages === PAGES_MAX) throw Refusal.unavailable('More is left to erase; try again.', 1)
    const search = { trackerId, digest, limit: PAGE_EVENTS, after }
    const page: ErasablePayload[] = await findPayloadsByDigest(scope.database, search)
    const named = page.filter(payload => matchesPerson(payload, person))
    const unindexed = page.filter(payload => payload.isUnindexed && !named.includes(payload))
    await backfillIndexKeys(scope.database, trackerId, unindexed)
    for await (const others of findRelatedPayloads(scope, person, { named, visitors })) {
      addCounts(total, await eraseEventsAndDeliveries(scope, trackerId, others))
    }
    addCounts(total, await eraseEventsAndDeliveries(scope, trackerId, named))
    if (page.length < PAGE_EVENTS) break
    after = page.at(-1) ?? null
  }
  const visitorIds = [...visitors].filter(visitorId => digestVisitorId(visitorId) === digest)
  visitorIds.push(...(await findWithdrawnVisitors(scope.database, trackerId, digest)))
  total.sessions += await eraseSessionsAndWithdrawals(scope.database, {
    trackerId,
    digest,
    visitorIds,
  })
  return total
}

interface VisitorSearch {
  /** The events that name the person. */
  named: readonly ErasablePayload[]
  /** The visitors that were looked at already; the new ones are added. */
  visitors: Set<string>
}

/** The other events of the visitors in `named`, at most a page at a time. */
async function* findRelatedPayloads(
  { database }: ErasureContext,
  { trackerId, digest, keys }: ErasureSubject,
  { named, visitors }: VisitorSearch,
): AsyncGenerator<ErasablePayload[]> {
  const namedPlaces = new Set(named.map(eventRefKey))
  const namedBy = keys.filter(key => named.some(({ digests }) => digests[key]?.includes(digest)))
  for (const { visitorId } of named) {
    if (visitorId === null || visitors.has(visitorId)) continue
    visitors.add(visitorId)
    const limit = VISITOR_EVENTS_MAX + 1
    const found = await findPayloadsByVisitor(database, { trackerId, visitorId, limit })
    if (found.length === limit || isSharedVisitor(found)) continue
    const others = found.filter(
      payload =>
        !namedPlaces.has(eventRefKey(payload)) &&
        !identifiesAnotherPerson(payload, { digest, namedBy }),
    )
    for (let index = 0; index < others.length; index += PAGE_EVENTS) {
      yield others.slice(index, index + PAGE_EVENTS)
    }
  }
}

function isSharedVisitor(found: readonly ErasablePayload[]): boolean {
  return IDENTIFYING_KEYS.some(key => {
    const people = new Set(found.map(({ digests }) => digests[key]?.[0]).filter(Boolean))
    return people.size > VISITOR_PEOPLE_MAX
  })
}

/** Two people at one browser: the event has an identifier of the same kind, of another person. */
function identifiesAnotherPerson(
  { digests }: ErasablePayload,
  { digest, namedBy }: { digest: string; namedBy: readonly IdentifyingKey[] },
): boolean {
  return namedBy.some(key => {
    const given = digests[key] ?? []
    return given.length > 0 && !given.includes(digest)
  })
}

function addCounts(total: ErasureCounts, { events, sessions }: ErasureCounts): void {
  total.events += events
  total.sessions += sessions
}

interface ErasureContext {
  database: Database
  now: () => Date
}

/**
 * Erases these events wherever they left something: what waits to be sent is stopped, what the
 * platform said is forgotten, and last the payloads go, by which a repeated request finds the rest
 * when this one is interrupted. Until then a request may have taken up one of the events, so there
 * is a second look; what is answered later finds no payload (forget-erased-answer.ts).
 */
async function eraseEventsAndDeliveries(
  scope: ErasureContext,
  trackerId: string,
  payloads: readonly ErasablePayload[],
): Promise<ErasureCounts> {
  if (payloads.length === 0) return { events: 0, sessions: 0 }
  const stopping = { trackerId, events: payloads }
  const mayBeAnswered = await stopErasedDeliveries(scope, stopping)
  const erased = await eraseEvents(scope.database, trackerId, payloads)
  if (mayBeAnswered) await stopErasedDeliveries(scope, stopping)
  return erased
}
