import { createHash } from 'node:crypto'
import type { Database } from '../../service/runtime/db/database.ts'
import type { EventRef } from '../../service/signals/events/event-columns.ts'
import { ensurePartitions } from '../../service/signals/events/partition-store.ts'

/** Owner of nearly all rows, with one destination. */
export const LARGE_TRACKER = '0190aaaa-0000-7000-8000-000000000001'
export const LARGE_DESTINATION = '0190bbbb-0000-7000-8000-000000000001'
const SMALL_TRACKER = '0190aaaa-0000-7000-8000-000000000002'
const SMALL_DESTINATION = '0190bbbb-0000-7000-8000-000000000002'

/** All events were received on this day. */
export const LARGE_STORE_DAY = '2026-11-21'
const MIDNIGHT = new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`)

/** One event in this many is waiting, has failed, or is a child event. */
const WAITING_EVERY = 2
const FAILED_EVERY = 5
export const CHILD_EVERY = 1_000

/** Creates the trackers with their destinations, without events. */
export async function createTrackers(database: Database): Promise<void> {
  const { pool } = database
  await pool.query(`insert into workspaces (name, created_at) values ('Large', $1)`, [MIDNIGHT])
  await pool.query(
    `insert into trackers (id, workspace_id, name, created_at)
     select tracker, 1, 'Large', $2 from unnest($1::uuid[]) tracker`,
    [[LARGE_TRACKER, SMALL_TRACKER], MIDNIGHT],
  )
  await pool.query(
    `insert into destinations (tracker_id, id, type, credential_source, config, sealed_credential,
       status, created_at, updated_at)
     select tracker, destination, 'meta', 'oauth_connection', '{"dataset_id":"1"}', '', 'active',
       $3, $3
     from unnest($1::uuid[], $2::uuid[]) as target(tracker, destination)`,
    [[LARGE_TRACKER, SMALL_TRACKER], [LARGE_DESTINATION, SMALL_DESTINATION], MIDNIGHT],
  )
  await pool.query(
    `insert into tracker_keys (tracker_id, key_digest, kind, last_characters, created_at, origins)
     select tracker, decode(md5(tracker::text), 'hex'), 'publishable', 'abcd', $2,
       '{https://shop.example}'
     from unnest($1::uuid[]) tracker`,
    [[LARGE_TRACKER, SMALL_TRACKER], MIDNIGHT],
  )
  await ensurePartitions(database, MIDNIGHT, 3)
  for (const table of await findTables(database)) {
    await pool.query(`alter table ${table} set (autovacuum_enabled = off)`)
  }
}

/** Adds the events numbered from `from` up to `until`, with payloads, deliveries and the rest. */
export async function generateEvents(
  { pool }: Database,
  { from, until }: { from: number; until: number },
): Promise<void> {
  for (const statement of INSERT_STATEMENTS) {
    await pool.query(statement, [
      from,
      until - 1,
      LARGE_TRACKER,
      LARGE_DESTINATION,
      SMALL_TRACKER,
      SMALL_DESTINATION,
      MIDNIGHT,
    ])
  }
}

/** Does what autovacuum would do eventually. */
export async function analyzeStore(database: Database): Promise<void> {
  for (const table of await findTables(database)) await database.pool.query(`analyze ${table}`)
}

async function findTables({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select oid::regclass::text as name from pg_class
     where relkind = 'r'
       and relnamespace in ('public'::regnamespace, 'signalbox_store'::regnamespace) order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** `generateEvents` passes `$1` to `$7`. One event in a hundred belongs to the small tracker. */
const GENERATED_ROWS = `
  select number, md5(number::text) as event_id, 'visitor-' || number as visitor_id,
    case when number % 100 = 0 then $5::uuid else $3::uuid end as tracker_id,
    case when number % 100 = 0 then $6::uuid else $4::uuid end as destination_id,
    $7::timestamptz + make_interval(secs => number * 0.1) as created_at
  from generate_series($1::integer, $2::integer) as number`

const INSERT_STATEMENTS = [
  `with generated as (${GENERATED_ROWS})
   insert into event_keys (tracker_id, space, id_digest, created_at)
   select tracker_id, 0, event_id_digest(event_id), created_at from generated
   where destination_id is not null`,
  `with generated as (${GENERATED_ROWS})
   insert into events (tracker_id, event_id, space, created_at, event_time, event_name,
     event_class, action_source, consent_basis, measurement_class, attribution_join,
     enforcement_scope, consent_normalization_version, parent_event_id, order_id, value_amount,
     value_currency, body_digest)
   select tracker_id, event_id, 0, created_at, created_at, 'Purchase', 'conversion', 'website',
     'consent', 'advertising', 'allowed', 'event', '1',
     case when number % ${CHILD_EVERY} = 1 then md5((number + 1)::text) end, event_id, 19.90,
     'EUR',
     decode(event_id, 'hex')
   from generated`,
  `with generated as (${GENERATED_ROWS})
   insert into order_keys (tracker_id, space, order_digest, created_at)
   select tracker_id, 0, event_id_digest(E'Purchase\\n' || event_id), created_at from generated
   where destination_id is not null`,
  `with generated as (${GENERATED_ROWS})
   insert into secret_event_names (tracker_id, received_on, event_name)
   select tracker_id, created_at::date - number % 30, 'Name ' || number from generated
   where destination_id is not null and number % 10 = 0`,
  `with generated as (${GENERATED_ROWS})
   insert into event_payloads (tracker_id, event_id, space, created_at, received_on, visitor_id,
     page_url, user_data, click_ids, identifier_keys)
   select tracker_id, event_id, 0, created_at, created_at::date, visitor_id,
     'https://shop.example/?utm_id=' || number % 9 + 1,
     json_build_object('digests', json_build_object('em', json_build_array(repeat('e', 64))),
       'plain', json_build_object()),
     '{}', array[hashint4(number)]
   from generated`,
  `with generated as (${GENERATED_ROWS})
   insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
   select tracker_id, visitor_id, created_at, created_at, '{}' from generated`,
  `with generated as (${GENERATED_ROWS})
   insert into delivery_queue (tracker_id, event_id, space, id, destination_id, status,
     status_reason, is_test, next_attempt_at, created_at)
   select tracker_id, event_id, 0, number, destination_id, 'queued', 'generated', false, created_at,
     created_at
   from generated where number % ${WAITING_EVERY} = 0`,
  `with generated as (${GENERATED_ROWS})
   insert into deliveries (tracker_id, event_id, space, id, destination_id, status, status_reason,
     is_test, created_at, replayable_until, attempt_count, attempt_ids)
   select tracker_id, event_id, 0, number, destination_id,
     case when number % ${FAILED_EVERY} = 0 then 'failed:permanent' else 'accepted' end,
     'generated', false, created_at,
     case when number % ${FAILED_EVERY} = 0 then created_at + interval '7 days' end,
     1, array[md5((number / 100)::text)::uuid]
   from generated where number % ${WAITING_EVERY} <> 0`,
  `insert into send_attempts (tracker_id, id, destination_id, started_at, duration_milliseconds,
     event_count, is_test, outcome, answer)
   select $3, md5(number::text)::uuid, $4, $7::timestamptz + make_interval(secs => number), 100,
     100, false, 'accepted', '{"message":"ok"}'
   from generate_series($1::integer / 100, $2::integer / 100) as number
   where $5::uuid is not null and $6::uuid is not null
   on conflict do nothing`,
  `insert into request_receipts (tracker_id, id, destination_id, receipt_id, accepted_at,
     event_count, state, next_poll_at)
   select $3, md5(number::text)::uuid, $4, md5(number::text), at, 100,
     case when number % 10 = 0 then 'processing' else 'succeeded' end,
     case when number % 10 = 0 then at + interval '30 minutes' end
   from generate_series($1::integer / 100, $2::integer / 100) as number
   cross join lateral (select $7::timestamptz + make_interval(secs => number) as at) times
   where $5::uuid is not null and $6::uuid is not null
   on conflict do nothing`,
  `insert into request_receipt_deliveries (tracker_id, receipt, chunk, delivery_ids, created_at)
   select $3, md5(number::text)::uuid, 0, array[number], array[$7::timestamptz]
   from generate_series($1::integer / 100, $2::integer / 100) as number
   where $4::uuid is not null and $5::uuid is not null and $6::uuid is not null
   on conflict do nothing`,
  `with generated as (${GENERATED_ROWS})
   insert into consent_withdrawals (tracker_id, visitor_id, withdrawn_at)
   select tracker_id, 'gone-' || visitor_id, created_at from generated
   where destination_id is not null and number % 10 = 0`,
  `with generated as (${GENERATED_ROWS})
   insert into page_withdrawals (tracker_id, visitor_id, id, event_id, reaches_secret,
     first_withdrawn_at, withdrawn_at)
   select tracker_id, 'page-' || visitor_id, md5(event_id)::uuid, event_id, true, created_at,
     created_at
   from generated where destination_id is not null and number % 10 = 0
   on conflict do nothing`,
  `with generated as (${GENERATED_ROWS})
   insert into page_withdrawal_keys (tracker_id, key, withdrawal_id, withdrawn_at)
   select tracker_id, 'page-' || visitor_id, md5(event_id)::uuid, created_at from generated
   where destination_id is not null and number % 10 = 0`,
  `with generated as (${GENERATED_ROWS})
   insert into erased_identifiers (tracker_id, keyed_digest, erased_at)
   select tracker_id, sha256(convert_to(event_id, 'UTF8')), created_at from generated
   where destination_id is not null and number % 10 = 0`,
  `with generated as (${GENERATED_ROWS})
   insert into event_counts (tracker_id, received_on, slot, events)
   select tracker_id, created_at::date, 0, count(*) from generated
   where destination_id is not null group by 1, 2
   on conflict (tracker_id, received_on, slot)
     do update set events = event_counts.events + excluded.events,
       unindexed_since = excluded.unindexed_since`,
  `with generated as (${GENERATED_ROWS})
   insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
   select tracker_id, created_at::date, 0, count(*), 0 from generated
   where destination_id is not null group by 1, 2
   on conflict (tracker_id, planned_on, slot)
     do update set planned = delivery_counts.planned + excluded.planned`,
]

/** Rows per statement. */
export const ROWS_PER_STATEMENT = 1_000

export function numbers(count = ROWS_PER_STATEMENT): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

/** The ID that `generateEvents` gives to an event. */
export function generatedEventId(number: number): string {
  return createHash('md5').update(String(number)).digest('hex')
}

export function generatedEventIds(count = ROWS_PER_STATEMENT): string[] {
  return numbers(count)
    .filter(number => number % 100 !== 0)
    .map(generatedEventId)
}

/** The time of receipt that `generateEvents` gives to an event. */
export function generatedEventTime(number: number): Date {
  return new Date(Date.parse(`${LARGE_STORE_DAY}T00:00:00.000Z`) + number * 100)
}

export function generatedEventKeys(count = ROWS_PER_STATEMENT): EventRef[] {
  return numbers(count)
    .filter(number => number % 100 !== 0)
    .map(number => ({
      eventId: generatedEventId(number),
      createdAt: generatedEventTime(number),
      space: 0,
    }))
}
