import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { stopErasedDeliveries } from '../delivery/stop-erased-deliveries.ts'
import {
  type ErasablePayload,
  type ErasureCounts,
  eraseEvents,
  eraseSessionsAndWithdrawals,
  findPayloadsByDigest,
  findPayloadsByVisitor,
} from '../events/erase-store.ts'
import { eventRefKey } from '../events/event-columns.ts'
import { backfillIndexKeys } from '../events/payload-index-store.ts'
import {
  digestVisitorId,
  IDENTIFYING_KEYS,
  type IdentifyingKey,
  matchesPerson,
} from '../events/person-identifiers.ts'
import { findWithdrawnVisitors } from '../events/withdrawal-store.ts'

/** The person to erase, by the digest of one identifier. */
interface ErasureSubject {
  trackerId: string
  digest: string
  /** The keys under which the digest is searched. */
  keys: readonly IdentifyingKey[]
}

const PAGE_EVENTS = 1_000
/** 50,000 events per request; a person has dozens. */
const PAGES_MAX = 50
/** A hundred events a day over the retention of payloads. An ID with more is not one person's. */
const VISITOR_EVENTS_MAX = 10_000
/** A household. A visitor ID with more people is a cash register or a constant. */
const VISITOR_PEOPLE_MAX = 10

/**
 * Erases the events that identify the person, and the events of the same visitors that identify no
 * one else, such as page views before a sign-in. The latter go first, because nothing leads to them
 * afterwards. Throws a 503 refusal when one request cannot erase everything.
 */
export async function erasePerson(
  context: ErasureContext,
  person: ErasureSubject,
): Promise<ErasureCounts> {
  const { trackerId, digest } = person
  const total: ErasureCounts = { events: 0, sessions: 0 }
  const visitors = new Set<string>()
  let after: ErasablePayload | null = null
  for (let pages = 0; ; pages += 1) {
    if (pages === PAGES_MAX)
      throw Refusal.unavailable('More events remain to be erased; try again.', 1)
    const search = { trackerId, digest, limit: PAGE_EVENTS, after }
    const page: ErasablePayload[] = await findPayloadsByDigest(context.database, search)
    const named = page.filter(payload => matchesPerson(payload, person))
    const unindexed = page.filter(payload => payload.isUnindexed && !named.includes(payload))
    await backfillIndexKeys(context.database, trackerId, unindexed)
    for await (const others of findRelatedPayloads(context, person, { named, visitors })) {
      addCounts(total, await eraseEventsAndDeliveries(context, trackerId, others))
    }
    addCounts(total, await eraseEventsAndDeliveries(context, trackerId, named))
    if (page.length < PAGE_EVENTS) break
    after = page.at(-1) ?? null
  }
  const visitorIds = [...visitors].filter(visitorId => digestVisitorId(visitorId) === digest)
  visitorIds.push(...(await findWithdrawnVisitors(context.database, trackerId, digest)))
  total.sessions += await eraseSessionsAndWithdrawals(context.database, {
    trackerId,
    digest,
    visitorIds,
  })
  return total
}

interface VisitorSearch {
  /** The events that identify the person. */
  named: readonly ErasablePayload[]
  /** The visitors searched so far; new ones are added. */
  visitors: Set<string>
}

/** The other events of the visitors in `named`, in pages. */
async function* findRelatedPayloads(
  { database }: ErasureContext,
  { trackerId, digest, keys }: ErasureSubject,
  { named, visitors }: VisitorSearch,
): AsyncGenerator<ErasablePayload[]> {
  const namedRefs = new Set(named.map(eventRefKey))
  const namedBy = keys.filter(key => named.some(({ digests }) => digests[key]?.includes(digest)))
  for (const { visitorId } of named) {
    if (visitorId === null || visitors.has(visitorId)) continue
    visitors.add(visitorId)
    const limit = VISITOR_EVENTS_MAX + 1
    const found = await findPayloadsByVisitor(database, { trackerId, visitorId, limit })
    if (found.length === limit || isSharedVisitor(found)) continue
    const others = found.filter(
      payload =>
        !namedRefs.has(eventRefKey(payload)) &&
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

/** Two people share a browser: the event has another identifier of the same kind. */
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
 * Erases these events everywhere: stops queued deliveries, deletes the answers of the platform, and
 * deletes the payloads last, because a repeated request needs them to find the rest after an
 * interruption. A worker may send one of the events in between, so deliveries are stopped a second
 * time; a later answer finds no payload (stop-erased-deliveries.ts).
 */
async function eraseEventsAndDeliveries(
  context: ErasureContext,
  trackerId: string,
  payloads: readonly ErasablePayload[],
): Promise<ErasureCounts> {
  if (payloads.length === 0) return { events: 0, sessions: 0 }
  const stopping = { trackerId, events: payloads }
  const mayBeAnswered = await stopErasedDeliveries(context, stopping)
  const erased = await eraseEvents(context.database, trackerId, payloads)
  if (mayBeAnswered) await stopErasedDeliveries(context, stopping)
  return erased
}
