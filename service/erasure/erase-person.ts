import { Refusal } from '../http/refusal.ts'
import {
  type Erased,
  eraseKeysOf,
  type FoundPayload,
  findPayloadsByDigest,
  findPayloadsOfVisitor,
} from '../ledger/erase-store.ts'
import { placeKey } from '../ledger/event-space.ts'
import {
  IDENTIFYING_KEYS,
  type IdentifyingKey,
  namesPerson,
  visitorDigest,
} from '../ledger/identifiers.ts'
import { indexPayloads } from '../ledger/unindexed-store.ts'
import { findWithdrawnVisitors } from '../ledger/withdrawal-store.ts'
import { type ErasureScope, eraseEventsWhole } from './erase-events-whole.ts'

/** One person, by the digest of one identifier. */
export interface Person {
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
export async function erasePerson(scope: ErasureScope, person: Person): Promise<Erased> {
  const { trackerId, digest } = person
  const total: Erased = { events: 0, sessions: 0 }
  const visitors = new Set<string>()
  let after: FoundPayload | null = null
  for (let pages = 0; ; pages += 1) {
    if (pages === PAGES_MAX) throw Refusal.unavailable('More is left to erase; try again.', 1)
    const search = { trackerId, digest, limit: PAGE_EVENTS, after }
    const page: FoundPayload[] = await findPayloadsByDigest(scope.database, search)
    const named = page.filter(payload => namesPerson(payload, person))
    const unindexed = page.filter(payload => payload.isUnindexed && !named.includes(payload))
    await indexPayloads(scope.database, trackerId, unindexed)
    for await (const others of othersOfVisitors(scope, person, { named, visitors })) {
      add(total, await eraseEventsWhole(scope, trackerId, others))
    }
    add(total, await eraseEventsWhole(scope, trackerId, named))
    if (page.length < PAGE_EVENTS) break
    after = page.at(-1) ?? null
  }
  const visitorIds = [...visitors].filter(visitorId => visitorDigest(visitorId) === digest)
  visitorIds.push(...(await findWithdrawnVisitors(scope.database, trackerId, digest)))
  total.sessions += await eraseKeysOf(scope.database, { trackerId, digest, visitorIds })
  return total
}

interface KnownOfPerson {
  /** The events that name the person. */
  named: readonly FoundPayload[]
  /** The visitors that were looked at already; the new ones are added. */
  visitors: Set<string>
}

/** The other events of the visitors in `named`, at most a page at a time. */
async function* othersOfVisitors(
  { database }: ErasureScope,
  { trackerId, digest, keys }: Person,
  { named, visitors }: KnownOfPerson,
): AsyncGenerator<FoundPayload[]> {
  const namedPlaces = new Set(named.map(placeKey))
  const namedBy = keys.filter(key => named.some(({ digests }) => digests[key]?.includes(digest)))
  for (const { visitorId } of named) {
    if (visitorId === null || visitors.has(visitorId)) continue
    visitors.add(visitorId)
    const limit = VISITOR_EVENTS_MAX + 1
    const found = await findPayloadsOfVisitor(database, { trackerId, visitorId, limit })
    if (found.length === limit || isOfMany(found)) continue
    const others = found.filter(
      payload => !namedPlaces.has(placeKey(payload)) && !namesAnother(payload, { digest, namedBy }),
    )
    for (let index = 0; index < others.length; index += PAGE_EVENTS) {
      yield others.slice(index, index + PAGE_EVENTS)
    }
  }
}

function isOfMany(found: readonly FoundPayload[]): boolean {
  return IDENTIFYING_KEYS.some(key => {
    const people = new Set(found.map(({ digests }) => digests[key]?.[0]).filter(Boolean))
    return people.size > VISITOR_PEOPLE_MAX
  })
}

/** Two people at one browser: the event has an identifier of the same kind, of another person. */
function namesAnother(
  { digests }: FoundPayload,
  { digest, namedBy }: { digest: string; namedBy: readonly IdentifyingKey[] },
): boolean {
  return namedBy.some(key => {
    const given = digests[key] ?? []
    return given.length > 0 && !given.includes(digest)
  })
}

function add(total: Erased, { events, sessions }: Erased): void {
  total.events += events
  total.sessions += sessions
}
