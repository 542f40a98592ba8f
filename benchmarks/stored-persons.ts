import { hash } from 'node:crypto'
import type { Database } from '../service/db/database.ts'
import { arrayLiteral } from '../service/db/sql-fragments.ts'
import { indexKey, listIdentifierDigests } from '../service/events/person-identifiers.ts'
import type { ProvisionedTracker } from '../service/provisioning/provision-tracker.ts'

/** A person who will be erased. */
export interface StoredPerson {
  /** Of the e-mail address. */
  digest: string
  events: number
}

export interface PersonsPlan {
  /** How many events the tracker has: numbered from 0, in the order of their receipt. */
  count: number
  persons: number
}

const EVENTS_OF_PERSON_MAX = 30
/** Has no common divisor with the largest number, so that every number of events comes about. */
const STRIDE = 7

/** From 1 to 30. */
export function eventsOfPerson(person: number): number {
  return 1 + ((person * STRIDE) % EVENTS_OF_PERSON_MAX)
}

/**
 * Makes people out of listed events: each gets some of them, spread over all days, with one e-mail
 * address, one visitor id and a session. A tracker needs thirty events a person; with fewer there
 * are fewer people.
 */
export async function storePersons(
  { pool }: Database,
  { trackerId }: ProvisionedTracker,
  { count, persons }: PersonsPlan,
): Promise<StoredPerson[]> {
  const step = Math.floor(count / EVENTS_OF_PERSON_MAX)
  const named = Array.from({ length: Math.min(persons, step) }, (_, person) => {
    const numbers = Array.from({ length: eventsOfPerson(person) }, (_, at) => person + at * step)
    const digest = hash('sha256', `person-${person}@shop.example`)
    return { visitorId: `person-${person}`, digest, numbers }
  })
  const rows = named.flatMap(({ numbers, visitorId, digest }) => {
    const keys = listIdentifierDigests({ visitorId, digests: { em: [digest] } }).map(key =>
      indexKey(trackerId, key),
    )
    const identity = { visitorId, digest, keys: `{${keys.join(',')}}` }
    return numbers.map(number => ({ ...identity, eventId: hash('md5', String(number)) }))
  })
  await pool.query(NAME_EVENTS, [
    trackerId,
    arrayLiteral(rows.map(({ eventId }) => eventId)),
    arrayLiteral(rows.map(({ visitorId }) => visitorId)),
    arrayLiteral(rows.map(({ digest }) => digest)),
    arrayLiteral(rows.map(({ keys }) => keys)),
  ])
  await pool.query(INSERT_SESSIONS, [
    trackerId,
    arrayLiteral(named.map(({ visitorId }) => visitorId)),
  ])
  return named.map(({ digest, numbers }) => ({ digest, events: numbers.length }))
}

const NAME_EVENTS = `
  update event_payloads payload set
    visitor_id = named.visitor_id,
    user_data = json_build_object('digests', json_build_object('em', array[named.digest]),
      'plain', json_build_object('client_user_agent', 'Mozilla/5.0')),
    identifier_keys = named.keys::integer[]
  from unnest($2::text[], $3::text[], $4::text[], $5::text[])
    as named(event_id, visitor_id, digest, keys)
  where payload.tracker_id = $1 and payload.event_id = named.event_id`

const INSERT_SESSIONS = `
  insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
  select $1, visitor_id, now(), now(), '{}' from unnest($2::text[]) as visitor_id`
