import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import { dayOf } from './ledger-entry.ts'

/** An event with its payload and session, as it lies in the store. */
export interface StoredEvent {
  eventId: string
  createdAt: Date
  eventTime: Date
  eventName: string
  eventClass: string
  actionSource: string
  consentBasis: string
  measurementClass: string
  attributionJoin: string
  enforcementScope: string
  consentNormalizationVersion: string
  consentCapturedAt: Date | null
  /** The whole page while the payload is there, then its address alone. */
  eventSource: string | null
  parentEventId: string | null
  orderId: string | null
  valueAmount: string | null
  valueCurrency: string | null
  valueData: Record<string, unknown> | null
  consent: Record<string, unknown> | null
  notes: StoredNotes | null
  differingSubmissions: number
  lastDifferingAt: Date | null
  payload: StoredPayload | null
  session: StoredSession | null
}

export interface StoredNotes {
  dropped: { field: string; reason: string }[]
  unknown_members: string[]
}

export interface StoredPayload {
  visitorId: string | null
  digests: Record<string, string[]>
  plain: Record<string, string>
  clickIds: Record<string, string>
}

export interface StoredSession {
  visitorId: string
  firstSeenAt: Date
  lastSeenAt: Date
  landingSource: string | null
  clickIds: Record<string, string>
}

const CHILDREN_MAX = 100

/** Each event of `source`, which has the columns of `events` under that name. */
const readEvents = (source: string) => `
  select events.*,
    payload.event_id is not null as has_payload,
    payload.visitor_id, payload.user_data, payload.click_ids, payload.page_url,
    session.first_seen_at, session.last_seen_at, session.landing_source,
    session.click_ids as session_click_ids
  from ${source} events
  left join lateral (
    select * from event_payloads
    where tracker_id = events.tracker_id and event_id = events.event_id
      and received_on = (events.created_at at time zone 'UTC')::date
    limit 1
  ) payload on true
  left join lateral (
    select * from sessions
    where tracker_id = payload.tracker_id and visitor_id = payload.visitor_id limit 1
  ) session on true`

const EVENTS_OF_IDS = readEvents(`
  unnest($2::text[]) as asked(event_id)
  cross join lateral (
    select * from events where tracker_id = $1 and event_id = asked.event_id limit 1
  )`)

const EVENTS_OF_PARENT = readEvents(`(
    select * from events where tracker_id = $1 and parent_event_id = $2
    order by created_at, event_id limit ${CHILDREN_MAX}
  )`)

/** Events by id, in no order. */
export async function findEvents(
  { pool }: Database,
  trackerId: string,
  eventIds: readonly string[],
): Promise<StoredEvent[]> {
  const { rows } = await pool.query({
    text: EVENTS_OF_IDS,
    values: [trackerId, arrayLiteral(eventIds)],
  })
  return rows.map(storedEvent)
}

/** The events that name this one as their parent, the oldest first, up to a hundred. */
export async function findChildren(
  { pool }: Database,
  trackerId: string,
  parentEventId: string,
): Promise<StoredEvent[]> {
  const { rows } = await pool.query({
    name: 'find-children',
    text: `${EVENTS_OF_PARENT} order by events.created_at, events.event_id`,
    values: [trackerId, parentEventId],
  })
  return rows.map(storedEvent)
}

export interface Submission {
  trackerId: string
  eventId: string
  bodyDigest: Buffer
  at: Date
}

/**
 * Records how often an id came again with another body. The first body stays; that of an erased
 * person's event has no digest any more and is not compared. Counted before the update, because an
 * update takes each row once, however many submissions match it.
 */
export async function noteDifferingSubmissions(
  { pool }: Database,
  submissions: readonly Submission[],
): Promise<void> {
  await pool.query({
    text: `update events set
             differing_submissions = differing_submissions + differing.times,
             last_differing_at = differing.at
           from (
             select repeated.tracker_id, repeated.event_id, count(*)::integer as times,
               max(repeated.at) as at
             from unnest($1::uuid[], $2::text[], $3::bytea[], $4::timestamptz[])
               as repeated(tracker_id, event_id, body_digest, at)
             cross join lateral (
               select body_digest from events
               where tracker_id = repeated.tracker_id and event_id = repeated.event_id limit 1
             ) first
             where first.body_digest <> repeated.body_digest and first.body_digest <> ''
             group by repeated.tracker_id, repeated.event_id
           ) differing
           where events.tracker_id = differing.tracker_id
             and events.event_id = differing.event_id`,
    values: [
      arrayLiteral(submissions.map(({ trackerId }) => trackerId)),
      arrayLiteral(submissions.map(({ eventId }) => eventId)),
      arrayLiteral(submissions.map(({ bodyDigest }) => `\\x${bodyDigest.toString('hex')}`)),
      arrayLiteral(submissions.map(({ at }) => at.toISOString())),
    ],
  })
}

const DAY_MILLISECONDS = 86_400_000
const PARTITION_LOCK_MILLISECONDS_MAX = 500
const LOCK_NOT_AVAILABLE = '55P03'
const CHECK_VIOLATION = '23514'

/**
 * Makes the payload partitions of the days from `from` on, so that the default one stays empty.
 * A day that already has rows in the default partition keeps them there. When a backup or a long
 * report holds the table, the rest is left for a later call: waiting for it would make every read
 * and write behind us wait too, and the days are made long before they come.
 */
export async function ensurePayloadPartitions(
  { query }: Database,
  from: Date,
  days: number,
): Promise<void> {
  for (let index = 0; index < days; index += 1) {
    const start = dayOf(new Date(from.getTime() + index * DAY_MILLISECONDS))
    const end = dayOf(new Date(from.getTime() + (index + 1) * DAY_MILLISECONDS))
    const name = `event_payloads_${start.replaceAll('-', '_')}`
    const { rows } = await sql<{ found: string | null; strays: boolean }>`
      select to_regclass(${name})::text as found, exists (
        select from event_payloads_default where received_on = ${start}::date
      ) as strays`.execute(query)
    if (rows[0]?.found || rows[0]?.strays) continue
    try {
      await makePartition(query, { name, start, end })
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === LOCK_NOT_AVAILABLE) return
      // A row of that day came into the default partition since we looked.
      if (code !== CHECK_VIOLATION) throw error
    }
  }
}

/** Two processes at the same day take turns: "if not exists" alone lets both try, and one fail. */
async function makePartition(
  query: Database['query'],
  { name, start, end }: { name: string; start: string; end: string },
): Promise<void> {
  await query.transaction().execute(async transaction => {
    const wait = sql.lit(PARTITION_LOCK_MILLISECONDS_MAX)
    await sql`set local lock_timeout = ${wait}`.execute(transaction)
    await sql`select pg_advisory_xact_lock(hashtext('event_payloads'))`.execute(transaction)
    await sql`create table if not exists ${sql.table(name)} partition of event_payloads
      for values from (${sql.lit(start)}) to (${sql.lit(end)})`.execute(transaction)
    // No partition takes this over from its table; see 0006-erasure.sql.
    await sql`alter table ${sql.table(name)} alter column visitor_id set statistics 0,
      alter column page_url set statistics 0`.execute(transaction)
  })
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function storedEvent(row: any): StoredEvent {
  return {
    eventId: row.event_id,
    createdAt: row.created_at,
    eventTime: row.event_time,
    eventName: row.event_name,
    eventClass: row.event_class,
    actionSource: row.action_source,
    consentBasis: row.consent_basis,
    measurementClass: row.measurement_class,
    attributionJoin: row.attribution_join,
    enforcementScope: row.enforcement_scope,
    consentNormalizationVersion: row.consent_normalization_version,
    consentCapturedAt: row.consent_captured_at,
    eventSource: row.page_url ?? row.event_source,
    parentEventId: row.parent_event_id,
    orderId: row.order_id,
    valueAmount: row.value_amount,
    valueCurrency: row.value_currency,
    valueData: row.value_data,
    consent: row.consent,
    notes: row.notes,
    differingSubmissions: row.differing_submissions,
    lastDifferingAt: row.last_differing_at,
    payload: row.has_payload
      ? { visitorId: row.visitor_id, ...row.user_data, clickIds: row.click_ids }
      : null,
    session: row.first_seen_at
      ? {
          visitorId: row.visitor_id,
          firstSeenAt: row.first_seen_at,
          lastSeenAt: row.last_seen_at,
          landingSource: row.landing_source,
          clickIds: row.session_click_ids,
        }
      : null,
  }
}
