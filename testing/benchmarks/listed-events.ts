import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import type { Database } from '../../service/runtime/db/database.ts'
import { DAY_MILLISECONDS, formatUtcDay } from '../../service/runtime/util/time.ts'
import { ensurePartitions } from '../../service/signals/events/partition-store.ts'

/** The number of days over which events are spread evenly. */
const LISTED_DAYS = 30
/** Rows per statement: half a million payloads nearly reach the timeout of one minute. */
const ROWS_PER_STATEMENT = 100_000

interface Listing {
  count: number
  /** The end of the last day; default now. */
  until?: Date
}

/**
 * Adds accepted purchases to a tracker in SQL, in the state after acceptance and settlement:
 * ledger, payload, one delivery, and counters. IDs are not in order of receipt.
 */
export async function storeListedEvents(
  database: Database,
  { trackerId, destinationId }: Pick<ProvisionedTracker, 'trackerId' | 'destinationId'>,
  { count, until = new Date() }: Listing,
): Promise<void> {
  const { pool } = database
  const from = new Date(until.getTime() - LISTED_DAYS * DAY_MILLISECONDS)
  await ensurePartitions(database, from, LISTED_DAYS + 2)
  const step = (LISTED_DAYS * DAY_MILLISECONDS - DAY_MILLISECONDS / 24) / count
  for (let first = 0; first < count; first += ROWS_PER_STATEMENT) {
    const last = Math.min(first + ROWS_PER_STATEMENT, count) - 1
    const span = [trackerId, first, last, from, step]
    await pool.query(INSERT_KEYS, span)
    await pool.query(INSERT_EVENTS, span)
    await pool.query(INSERT_PAYLOADS, span)
    await pool.query(INSERT_DELIVERIES, [...span, destinationId])
  }
  await pool.query(COUNT_EVENTS, [trackerId])
  await pool.query(COUNT_DELIVERIES, [trackerId])
  await pool.query(COUNT_STAGES, [trackerId])
}

/** The state after some hours of autovacuum. */
export async function vacuumStore({ pool }: Database): Promise<void> {
  const { rows: days } = await pool.query(
    `select oid::regclass::text as name from pg_class
     where relkind = 'r' and relnamespace = 'signalbox_store'::regnamespace`,
  )
  const tables = ['event_counts', 'delivery_counts', 'sessions']
  for (const table of [...tables, ...days.map(({ name }) => name)]) {
    await pool.query(`vacuum (analyze) ${table}`)
  }
  for (const table of ['events', 'deliveries', 'event_payloads']) {
    await pool.query(`analyze ${table}`)
  }
  await pool.query('checkpoint')
}

const NUMBERED = `
  select number, md5(number::text) as event_id,
    $4::timestamptz + make_interval(secs => number * $5::double precision / 1000) as created_at
  from generate_series($2::bigint, $3::bigint) as number`

const INSERT_KEYS = `
  insert into event_keys (tracker_id, space, id_digest, created_at)
  select $1, 0, event_id_digest(event_id), created_at from (${NUMBERED}) numbered`

const INSERT_EVENTS = `
  insert into events (
    tracker_id, event_id, space, created_at, event_time, event_name, event_class, action_source,
    consent_basis, measurement_class, attribution_join, enforcement_scope,
    consent_normalization_version, event_source, order_id, value_amount, value_currency,
    value_data, consent, body_digest
  )
  select $1, event_id, 0, created_at, created_at, 'Purchase', 'conversion', 'website', 'consent',
    'advertising', 'allowed', 'event', '1', 'https://shop.example/checkout', number::text,
    19.95, 'EUR', '{"value":"19.95","currency":"EUR"}',
    '{"ad_user_data":"granted","decision":{"outcome":"granted","reason":"granted_by_consent"}}',
    decode(event_id, 'hex')
  from (${NUMBERED}) numbered`

/** `indexKey` of service/signals/events/person-identifiers.ts, in SQL. */
export function indexKeyExpression(trackerId: string, digest: string): string {
  return `(('x' || left(${digest}, 8))::bit(32)
    # ('x' || right(${trackerId}::text, 8))::bit(32))::integer`
}

const INSERT_PAYLOADS = `
  insert into event_payloads
    (tracker_id, event_id, space, created_at, received_on, visitor_id, user_data, click_ids,
     identifier_keys)
  select $1::uuid, event_id, 0, created_at, (created_at at time zone 'UTC')::date, visitor_id,
    json_build_object('digests', json_build_object('em', array[event_id || event_id]),
      'plain', json_build_object('client_user_agent', 'Mozilla/5.0')), '{}',
    array[${indexKeyExpression('$1::uuid', 'event_id')},
      ${indexKeyExpression('$1::uuid', 'visitor_digest')}]
  from (${NUMBERED}) numbered
  cross join lateral (select 'visitor-' || number % 100000 as visitor_id) visitor
  cross join lateral (
    select encode(sha256(convert_to(visitor_id, 'UTF8')), 'hex') as visitor_digest
  ) digested`

const INSERT_DELIVERIES = `
  insert into deliveries (
    tracker_id, event_id, space, id, destination_id, status, status_reason, is_test, attempt_count,
    first_sent_at, platform_trace_id, created_at, updated_at
  )
  select $1, event_id, 0, number + 1, $6, 'accepted', 'accepted', false, 1, created_at,
    'A' || event_id, created_at, created_at
  from (${NUMBERED}) numbered`

const COUNT_EVENTS = `
  insert into event_counts (tracker_id, received_on, slot, events)
  select $1, (created_at at time zone 'UTC')::date, 0, count(*)
  from events where tracker_id = $1 group by 2`

const COUNT_DELIVERIES = `
  insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
  select $1, (created_at at time zone 'UTC')::date, 0, count(*), count(*)
  from all_deliveries where tracker_id = $1 group by 2`

const COUNT_STAGES = `
  insert into stage_counts (tracker_id, hour, stage, reason, slot, count)
  select $1, hour, stage, case stage when 'accepted' then '' else 'accepted' end, 0, events
  from (
    select date_trunc('hour', created_at, 'UTC') as hour, count(*) as events
    from events where tracker_id = $1 group by 1
  ) counted
  cross join unnest(array['accepted', 'platform_accepted']) as stage`

/** Adds payloads received on one day, in the partition of that day. */
export async function storeExpiredPayloads(
  database: Database,
  { trackerId }: ProvisionedTracker,
  { count, receivedAt }: { count: number; receivedAt: Date },
): Promise<void> {
  await ensurePartitions(database, receivedAt, 1)
  for (let first = 0; first < count; first += ROWS_PER_STATEMENT) {
    const last = Math.min(first + ROWS_PER_STATEMENT, count) - 1
    await database.pool.query(INSERT_EXPIRED_PAYLOADS, [
      trackerId,
      formatUtcDay(receivedAt),
      first,
      last,
    ])
  }
}

const INSERT_EXPIRED_PAYLOADS = `
  insert into event_payloads
    (tracker_id, event_id, space, created_at, received_on, visitor_id, user_data, click_ids,
     identifier_keys)
  select $1::uuid, md5(number::text), 0, $2::date + number * interval '1 millisecond', $2::date,
    'visitor-' || number,
    json_build_object('digests', json_build_object('em', array[digest], 'ph', array[digest]),
      'plain', json_build_object('client_user_agent', 'Mozilla/5.0')), '{}',
    array[${indexKeyExpression('$1::uuid', 'digest')}]
  from generate_series($3::bigint, $4::bigint) as number
  cross join lateral (select md5(number::text) || md5(number::text) as digest) digested`
