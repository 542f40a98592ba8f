import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import {
  ALL_DELIVERY_REASONS,
  type DeliveryOutcome,
  type DeliveryReason,
} from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  COUNTER_SHARD,
  toArrayParameters,
  unnestColumns,
  utcDay,
} from '../../runtime/db/sql-fragments.ts'
import { type EventRef, eventRefValues, unnestEventRefs } from '../events/event-columns.ts'
import type { SendError, TargetConfig } from '../platforms/platform.ts'
import { type Backoff, backoffOf } from './destination-store.ts'

/** A delivery with the platform's last answer and the state of its destination. */
export interface StoredDelivery {
  id: number
  eventId: string
  space: number
  destinationId: string | null
  status: Stored<DeliveryStatus>
  statusReason: Stored<DeliveryReason>
  isTest: boolean
  attemptCount: number
  lastError: SendError | null
  platformResponse: Record<string, unknown> | null
  platformTraceId: string | null
  nextAttemptAt: Date | null
  firstSentAt: Date | null
  replayedAt: Date | null
  /** The requests that contained it, oldest first. */
  attemptIds: string[]
  /** It is sent under the ID of its event with the prefix of pages. */
  hasIdPrefix: boolean
  /** The value of its order that a refund tells a platform that restates values; else null. */
  toldValue: string | null
  createdAt: Date
  updatedAt: Date | null
  /** How long the worker that sends it has it to itself, below 0 when it was lost; else null. */
  leaseSecondsLeft: number | null
  /** Why the destination is inactive; null while it is active. */
  destinationProblem: string | null
  /** When one event tries an inactive destination. */
  nextProbeAt: Date | null
  /** Why the workers send nothing to the destination for a while. */
  backoff: Backoff | null
  /** The destination has a code for test events. */
  hasTestCode: boolean
  /** The name of the destination's platform; null without a destination. */
  platform: string | null
  /** Where its destination sends; null without one. */
  destinationConfig: TargetConfig | null
}

/** The deliveries of some events, waiting and final, in the order of planning. */
export async function findDeliveries(
  { pool }: Database,
  trackerId: string,
  events: readonly EventRef[],
): Promise<StoredDelivery[]> {
  const { rows } = await pool.query({
    text: `select deliveries.*, attempt.answer, destination.*,
             extract(epoch from deliveries.leased_until - statement_timestamp())::double precision
               as lease_seconds_left
           from ${unnestEventRefs('given', 2)}
           cross join lateral (
             select * from all_deliveries
             where tracker_id = $1::uuid and created_at = given.created_at
               and event_id = given.event_id and space = given.space
             offset 0
           ) deliveries
           left join lateral (
             select answer from send_attempts
             where tracker_id = $1::uuid
               and id = deliveries.attempt_ids[cardinality(deliveries.attempt_ids)]
             limit 1
           ) attempt on true
           left join lateral (
             select type as platform, config, test_event_code is not null as has_test_code,
               next_probe_at, backoff_cause, backoff_since, backoff_until,
               case when status = 'inactive' then coalesce(status_reason, '${NO_REASON}') end
                 as destination_problem
             from destinations
             where tracker_id = $1::uuid and id = deliveries.destination_id limit 1
           ) destination on true
           order by deliveries.id`,
    values: [trackerId, ...eventRefValues(events)],
  })
  return rows.map(row => ({
    id: row.id,
    eventId: row.event_id,
    space: row.space,
    destinationId: row.destination_id,
    status: parseStored(DELIVERY_STATUSES, row.status),
    statusReason: parseStored(ALL_DELIVERY_REASONS, row.status_reason),
    isTest: row.is_test,
    attemptCount: row.attempt_count,
    lastError: row.last_error,
    platformResponse: row.answer,
    platformTraceId: row.platform_trace_id,
    nextAttemptAt: row.next_attempt_at,
    firstSentAt: row.first_sent_at,
    replayedAt: row.replayed_at,
    attemptIds: row.attempt_ids,
    hasIdPrefix: row.has_id_prefix === true,
    toldValue: row.told_value,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    leaseSecondsLeft: row.lease_seconds_left,
    destinationProblem: row.destination_problem,
    nextProbeAt: row.next_probe_at,
    backoff: backoffOf(row),
    hasTestCode: row.has_test_code === true,
    platform: row.platform,
    destinationConfig: row.config,
  }))
}

const NO_REASON = 'The platform rejects it without a reason'

interface AcceptanceCounts {
  /** Planned live deliveries without skipped ones. */
  planned: number
  accepted: number
}

/** The outcomes of live deliveries planned on a UTC day (YYYY-MM-DD) or later. */
export async function countAcceptance(
  { pool }: Database,
  trackerId: string,
  sinceDay: string,
): Promise<AcceptanceCounts> {
  const { rows } = await pool.query({
    name: 'count-acceptance',
    text: `select coalesce(sum(planned), 0) as planned, coalesce(sum(accepted), 0) as accepted
           from delivery_counts where tracker_id = $1::uuid and planned_on >= $2::date`,
    values: [trackerId, sinceDay],
  })
  return rows[0]
}

/** Whether a platform ever accepted a live delivery: a row of the counts for each day. */
export async function hasAcceptedDelivery({ pool }: Database, trackerId: string): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'has-accepted-delivery',
    text: `select 1 from delivery_counts where tracker_id = $1::uuid and accepted > 0
           order by planned_on desc limit 1`,
    values: [trackerId],
  })
  return rows.length > 0
}

/** Columns that a delivery keeps when it moves between the queue and the history. */
export const FIXED_COLUMNS = [
  'tracker_id',
  'created_at',
  'id',
  'event_id',
  'space',
  'destination_id',
  'is_test',
  'has_id_prefix',
  'told_value',
]

/** Columns that a replay sets. */
export const REPLAY_COLUMNS = ['replayed_at', 'attempts_before_replay']

/** Columns that attempts set, beside the status and the last error. */
export const ATTEMPT_COLUMNS = [
  'attempt_count',
  'first_sent_at',
  'platform_trace_id',
  'attempt_ids',
]

/** By which a final delivery is counted as an outcome. */
export const OUTCOME_COLUMNS = ['status', 'status_reason', 'updated_at']

/** The end of an insert into `delivery_counts`: adds to the counts of a day, or starts them. */
export const ADD_COUNTS = `
  on conflict (tracker_id, planned_on, slot) do update set
    planned = delivery_counts.planned + excluded.planned,
    accepted = delivery_counts.accepted + excluded.accepted`

/** Adds deliveries to the planned counts of their days, or subtracts them; `$1` is the tracker. */
export function countPlanned(source: string, change: 'count(*)' | '-count(*)'): string {
  return `insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
       select $1::uuid, ${utcDay('created_at')}, ${COUNTER_SHARD}, ${change}, 0
       from ${source} where not is_test group by 2 order by 2
       ${ADD_COUNTS}`
}

/**
 * The rows of `source` as one JSON text, for a statement that passes them to the next one: on a
 * Citus cluster a write cannot read a common table expression (docs/decisions/0024). The platform's
 * error travels as text: it may contain a NUL, which PostgreSQL stores in JSON but does not parse.
 */
export function rowsToJson(columns: readonly string[], source: string): string {
  const written = columns.map(name => (name === LAST_ERROR ? `${name}::text` : name))
  return `(select json_agg(moved) from (select ${written.join(', ')} from ${source}) moved)::text`
}

/** The same rows, read from that text as a source that has these columns of the table. */
export function rowsFromJson(
  columns: readonly string[],
  table: 'delivery_queue' | 'deliveries',
  parameter: string,
): string {
  const read = columns.map(name =>
    name === LAST_ERROR ? `(${name} #>> '{}')::json as ${name}` : name,
  )
  return `(select ${read.join(', ')}
      from json_populate_recordset(null::${table}, ${parameter}::json)) moved`
}

const LAST_ERROR = 'last_error'

export interface ToldValue {
  createdAt: Date
  deliveryId: number
  /** Decimal text. */
  value: string
}

/** The members of a delivery's primary key beside its tracker. */
export const DELIVERY_KEY_COLUMNS: BatchColumn<{ createdAt: Date; deliveryId: number }>[] = [
  { name: 'created_at', type: 'timestamptz', text: ({ createdAt }) => createdAt.toISOString() },
  { name: 'id', type: 'bigint', text: ({ deliveryId }) => String(deliveryId) },
]

const TOLD_COLUMNS: BatchColumn<ToldValue>[] = [
  ...DELIVERY_KEY_COLUMNS,
  { name: 'told_value', type: 'numeric', text: ({ value }) => value },
]

interface ClaimedChange<Row> {
  trackerId: string
  leaseEndsAt: Date
  /** Those of the key, and the ones that `set` names as `own.<name>`. */
  columns: readonly BatchColumn<Row>[]
  rows: readonly Row[]
  /** SQL of one column that is in no index, so that it is a heap-only update. */
  set: string
}

/** Changes what deliveries have before they are sent. Only those that the worker still has. */
export async function updateClaimed<Row>(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, leaseEndsAt, columns, rows, set }: ClaimedChange<Row>,
): Promise<void> {
  if (rows.length === 0) return
  await pool.query({
    text: `with own as materialized (
             select * from (
               select queue.row_position, given.*
               from ${unnestColumns(columns, { alias: 'given', firstParameter: 3 })}
               cross join lateral (
                 select ctid as row_position from delivery_queue
                 where tracker_id = $1::uuid and created_at = given.created_at
                   and id = given.id and leased_until = $2::timestamptz
                 limit 1 for update
               ) queue
             ) locked
           )
           update delivery_queue queue set ${set}
           from own where queue.ctid = own.row_position and queue.tracker_id = $1::uuid`,
    values: [trackerId, leaseEndsAt, ...toArrayParameters(columns, rows)],
  })
}

/** Stores, before they are sent, which values refunds tell the platform. */
export function storeToldValues(
  database: Pick<Database, 'pool'>,
  { trackerId, leaseEndsAt, told }: { trackerId: string; leaseEndsAt: Date; told: ToldValue[] },
): Promise<void> {
  const set = 'told_value = own.told_value'
  const change = { trackerId, leaseEndsAt, columns: TOLD_COLUMNS, rows: told, set }
  return updateClaimed(database, change)
}

/** A status with its reason, as SQL literals. */
export function outcomeLiterals({ status, reason }: DeliveryOutcome) {
  return { status: `'${status}'`, reason: `'${reason}'` }
}
