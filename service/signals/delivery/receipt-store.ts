import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import type pg from 'pg'
import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import type { ReceiptCount, ReceiptResult } from '../platforms/platform.ts'

/** `unknown`: the platform had no result within a day. */
export const RECEIPT_STATES = [
  'processing',
  'succeeded',
  'partially_succeeded',
  'failed',
  'unknown',
] as const
export type ReceiptState = (typeof RECEIPT_STATES)[number]

/** A request that the platform took, and whose result it tells later. */
export interface NewReceipt {
  /** That of the request in `send_attempts`. */
  id: string
  receiptId: string
  nextPollAt: Date
}

interface SettledRequest {
  trackerId: string
  destinationId: string
  /** The time of the settlement. */
  at: Date
  settlements: readonly (DeliveryKey & { status: string })[]
}

export interface DeliveryKey {
  id: number
  createdAt: Date
}

const CHUNK_DELIVERIES = 500

/** Stores a receipt and its accepted deliveries in the transaction of their settlement. */
export async function insertReceipt(
  client: pg.PoolClient,
  { id, receiptId, nextPollAt }: NewReceipt,
  { trackerId, destinationId, at, settlements }: SettledRequest,
): Promise<void> {
  const deliveries = settlements.filter(({ status }) => status === 'accepted')
  await client.query({
    text: `insert into request_receipts (tracker_id, id, destination_id, receipt_id, accepted_at,
             event_count, state, next_poll_at)
           values ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::timestamptz, $6::integer,
             'processing', $7::timestamptz)
           on conflict (tracker_id, id) do nothing`,
    values: [trackerId, id, destinationId, receiptId, at, deliveries.length, nextPollAt],
  })
  for (let chunk = 0; chunk * CHUNK_DELIVERIES < deliveries.length; chunk += 1) {
    const own = deliveries.slice(chunk * CHUNK_DELIVERIES, (chunk + 1) * CHUNK_DELIVERIES)
    await client.query({
      text: `insert into request_receipt_deliveries
               (tracker_id, receipt, chunk, delivery_ids, created_at)
             values ($1::uuid, $2::uuid, $3::integer, $4::bigint[], $5::timestamptz[])
             on conflict (tracker_id, receipt, chunk) do nothing`,
      values: [trackerId, id, chunk, ...toKeyArrays(own)],
    })
  }
}

/** As parameters of `unnest($1::bigint[], $2::timestamptz[])`. */
export function toKeyArrays(deliveries: readonly DeliveryKey[]): [ids: string, times: string] {
  return [
    arrayLiteral(deliveries.map(({ id }) => String(id))),
    arrayLiteral(deliveries.map(({ createdAt }) => createdAt.toISOString())),
  ]
}

export interface StoredReceipt {
  trackerId: string
  id: string
  destinationId: string
  receiptId: string
  acceptedAt: Date
  eventCount: number
  state: Stored<ReceiptState>
  recordCount: number | null
  errors: ReceiptCount[]
  warnings: ReceiptCount[]
  polls: number
  /** Null: nothing more is asked. */
  nextPollAt: Date | null
}

const COLUMNS = `tracker_id, id, destination_id, receipt_id, accepted_at, event_count, state,
  record_count, errors, warnings, polls, next_poll_at`

/**
 * Takes receipts whose result is due to be read, the longest due first. They are due again at
 * `until`, so that a process that dies here delays them and no other asks at the same time. With
 * `trackerIds`, a Citus cluster asks only the node of these trackers.
 */
export async function claimDueReceipts(
  { pool }: Database,
  { at, until, limit }: { at: Date; until: Date; limit: number },
  trackerIds: readonly string[] | null = null,
): Promise<StoredReceipt[]> {
  const due = await pool.query({
    text: `select tracker_id, id from request_receipts where next_poll_at <= $1::timestamptz
             ${trackerIds === null ? '' : 'and tracker_id = any($3::uuid[])'}
           order by next_poll_at limit $2::integer`,
    values: [at, limit, ...(trackerIds === null ? [] : [arrayLiteral(trackerIds)])],
  })
  const claimed: StoredReceipt[] = []
  for (const { tracker_id, id } of due.rows) {
    const { rows } = await pool.query({
      text: `update request_receipts set next_poll_at = $4::timestamptz
             where tracker_id = $1::uuid and id = $2::uuid and next_poll_at <= $3::timestamptz
             returning ${COLUMNS}`,
      values: [tracker_id, id, at, until],
    })
    claimed.push(...rows.map(toReceipt))
  }
  return claimed
}

// biome-ignore lint/suspicious/noExplicitAny: a row as the driver returns it
function toReceipt(row: any): StoredReceipt {
  return {
    trackerId: row.tracker_id,
    id: row.id,
    destinationId: row.destination_id,
    receiptId: row.receipt_id,
    acceptedAt: row.accepted_at,
    eventCount: row.event_count,
    state: parseStored(RECEIPT_STATES, row.state),
    recordCount: row.record_count,
    errors: row.errors,
    warnings: row.warnings,
    polls: row.polls,
    nextPollAt: row.next_poll_at,
  }
}

/** The receipts of these requests, for an explanation; most requests have none. */
export async function findReceipts(
  { pool }: Database,
  trackerId: string,
  ids: readonly string[],
): Promise<StoredReceipt[]> {
  if (ids.length === 0) return []
  const { rows } = await pool.query({
    text: `select receipt.* from unnest($2::uuid[]) as given(id)
           cross join lateral (
             select ${COLUMNS} from request_receipts
             where tracker_id = $1::uuid and id = given.id limit 1
           ) receipt
           order by accepted_at, id`,
    values: [trackerId, arrayLiteral(ids)],
  })
  return rows.map(toReceipt)
}

export interface ReceiptReading {
  trackerId: string
  id: string
  at: Date
  state: ReceiptState
  /** Null: unchanged, because nothing could be read. */
  result: ReceiptResult | null
  /** Null: nothing more is asked. */
  nextPollAt: Date | null
}

type Queryable = Pick<pg.PoolClient, 'query'>

/** Stores what the platform says about a receipt. */
export async function recordReading(
  client: Queryable,
  { trackerId, id, at, state, result, nextPollAt }: ReceiptReading,
): Promise<void> {
  await client.query({
    text: `update request_receipts set state = $3::text, polls = polls + 1,
             record_count = coalesce($4::integer, record_count),
             errors = coalesce($5::jsonb, errors), warnings = coalesce($6::jsonb, warnings),
             answer = coalesce($7::jsonb, answer), next_poll_at = $8::timestamptz,
             settled_at = case when $8::timestamptz is null then $9::timestamptz end
           where tracker_id = $1::uuid and id = $2::uuid`,
    values: [
      trackerId,
      id,
      state,
      result?.recordCount ?? null,
      toJson(result?.errors),
      toJson(result?.warnings),
      toJson(result?.answer),
      nextPollAt,
      at,
    ],
  })
}

function toJson(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

/** The results of the requests that a destination's platform took in a time range. */
export interface RequestsOfDay {
  requests: number
  events: number
  /** Of requests with a result that did not fail: their events, and those that were processed. */
  knownEvents: number
  processedEvents: number
  processingEvents: number
  unknownEvents: number
  failedEvents: number
  /** Of all requests, the largest first. */
  refusals: ReceiptCount[]
  /** Of requests that did not fail. */
  partialRefusals: ReceiptCount[]
}

const REFUSALS_MAX = 50

const OF_DAY = `tracker_id = $1::uuid and destination_id = $2::uuid
             and accepted_at >= $3::timestamptz and accepted_at < $4::timestamptz`

/** A platform may count more records than we sent events. A part of unknown size has no result. */
const PROCESSED = `case state
  when 'succeeded' then least(coalesce(record_count, event_count), event_count)
  when 'partially_succeeded' then least(record_count, event_count) end`

/** A few thousand rows of one index range, for the report of a day. */
export async function sumRequestsOfDay(
  { pool }: Database,
  { trackerId, destinationId, from, until }: CountedRequests,
): Promise<RequestsOfDay> {
  const values = [trackerId, destinationId, from, until]
  const summed = await pool.query({
    text: `select count(*) as requests, coalesce(sum(event_count), 0) as events,
             coalesce(sum(event_count) filter (where ${PROCESSED} is not null), 0)
               as "knownEvents",
             coalesce(sum(${PROCESSED}), 0) as "processedEvents",
             coalesce(sum(event_count) filter (where state = 'processing'), 0)
               as "processingEvents",
             coalesce(sum(event_count) filter (where state = 'failed'), 0) as "failedEvents"
           from request_receipts where ${OF_DAY}`,
    values,
  })
  const refused = await pool.query({
    text: `select error.reason, receipt.state = 'failed' as failed,
             sum(error.count)::bigint as count
           from (select state, errors from request_receipts where ${OF_DAY}) receipt
           cross join lateral jsonb_to_recordset(receipt.errors)
             as error(reason text, count bigint)
           group by 1, 2 order by 3 desc, 1`,
    values,
  })
  const [totals] = summed.rows
  const { events, knownEvents, processingEvents, failedEvents } = totals
  const refusals = new Map<string, number>()
  for (const { reason, count } of refused.rows) {
    refusals.set(reason, count + (refusals.get(reason) ?? 0))
  }
  return {
    ...totals,
    unknownEvents: events - knownEvents - processingEvents - failedEvents,
    refusals: [...refusals].map(([reason, count]) => ({ reason, count })).slice(0, REFUSALS_MAX),
    partialRefusals: refused.rows
      .filter(({ failed }) => !failed)
      .map(({ reason, count }) => ({ reason, count })),
  }
}

interface CountedRequests {
  trackerId: string
  destinationId: string
  from: Date
  until: Date
}
