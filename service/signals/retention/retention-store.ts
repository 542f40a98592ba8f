import { type Database, deleteByTracker } from '../../runtime/db/database.ts'
import { subtractDays } from '../../runtime/util/time.ts'
import {
  buildExpireDeliveriesCtes,
  deleteDeliveryCounts,
  deleteQueuedDeliveries,
  dropDeliveryPartition,
} from '../delivery/expire-store.ts'
import {
  buildExpireEventsCtes,
  deleteAllEventCounts,
  deleteEventCounts,
  detachEventPartition,
  findTrackersWithRows,
  type RowwisePartition,
} from '../events/event-expiry-store.ts'
import { changePartitions } from '../events/partition-store.ts'

const WEEK_DAYS = 7

/**
 * Removes a week: its events, their deliveries, and the counts of its days, in one transaction. The
 * order of the statements is the lock order. Returns false and changes nothing when another
 * transaction, such as a backup, holds the tables for longer than half a second.
 */
export async function detachWeek(database: Database, start: string): Promise<boolean> {
  const end = subtractDays(new Date(start), -WEEK_DAYS)
  return changePartitions(database, async transaction => {
    await deleteAllEventCounts(transaction, end)
    await deleteQueuedDeliveries(transaction, end)
    await detachEventPartition(transaction, start)
    await dropDeliveryPartition(transaction, start)
  })
}

export interface EventBatch {
  trackerId: string
  /** The first UTC day to keep. */
  cutoffDay: string
  /** The last event of the previous batch; null for the first batch. */
  after: EventCursor | null
}

/** The position of an event among those of its tracker; the time as PostgreSQL writes it. */
export interface EventCursor {
  createdAt: string
  eventId: string
}

export interface DeletedEvents {
  events: number
  deliveries: number
  /** Null when none are left. */
  last: EventCursor | null
}

/** One statement, so that events, deliveries and counts change together. */
const buildExpireStatement = (partition: RowwisePartition) => `
  with ${buildExpireEventsCtes(partition)},${buildExpireDeliveriesCtes()}
  select (select count(*) from deleted_events) as events,
    (select count(*) from deleted_deliveries) as deliveries,
    due.created_at::text as last_at, due.event_id as last_id
  from due order by due.created_at desc, due.event_id desc limit 1`

/**
 * Deletes a batch of a tracker's oldest events with their deliveries and counts. Rows that another
 * process has locked are left to it.
 */
export async function deleteEventBatch(
  { pool }: Database,
  partition: RowwisePartition,
  { trackerId, cutoffDay, after }: EventBatch,
): Promise<DeletedEvents> {
  const { rows } = await pool.query({
    text: buildExpireStatement(partition),
    values: [trackerId, cutoffDay, after?.createdAt ?? '-infinity', after?.eventId ?? ''],
  })
  const [row] = rows
  if (!row) return { events: 0, deliveries: 0, last: null }
  const last = { createdAt: row.last_at, eventId: row.last_id }
  return { events: row.events, deliveries: row.deliveries, last }
}

/**
 * Deletes the counts of a tracker from before the cutoff day, once no event of those days is left.
 */
export async function deleteCounts(
  database: Database,
  trackerId: string,
  cutoffDay: string,
): Promise<void> {
  await deleteEventCounts(database, trackerId, cutoffDay)
  await deleteDeliveryCounts(database, trackerId, cutoffDay)
}

/** Tables with an index that begins with the tracker and a time. */
export interface AgedTable {
  table:
    | ('refusals' | 'refusal_values' | 'stage_counts' | 'delivery_issues' | 'secret_event_names')
    | ('imports' | 'issue_states')
  column: 'hour' | 'day' | 'received_on' | 'created_at' | 'changed_at'
  /** Rows of this state alone. */
  state?: 'resolved'
}

export const OLD_ROWS_MAX = 1_000

/**
 * Deletes a batch of rows from before a time: one index lookup per tracker, and a thousand rows at
 * most. Locked rows are left to the next batch. Returns how many.
 */
export async function deleteOldRows(
  database: Database,
  { table, column, state, before }: AgedTable & { before: Date },
): Promise<number> {
  const isDay = column === 'day' || column === 'received_on'
  const ofState = state === undefined ? '' : `and state = '${state}'`
  const cutoff = isDay ? '$1::date' : '$1::timestamptz'
  const value = isDay ? before.toISOString().slice(0, 10) : before
  const trackerIds = await findTrackersWithRows(database, {
    table,
    condition: `${column} < ${cutoff} ${ofState}`,
    values: [value],
    limit: OLD_ROWS_MAX,
  })
  return deleteByTracker(trackerIds, OLD_ROWS_MAX, async ({ trackerId, limit }) => {
    const deleted = await database.pool.query({
      text: `delete from ${table} where tracker_id = $2::uuid and ctid = any(array(
               select ctid from ${table}
               where tracker_id = $2::uuid and ${column} < ${cutoff} ${ofState}
               order by ${column} limit $3::integer for update skip locked
             ))
             returning tracker_id`,
      values: [value, trackerId, limit],
    })
    return deleted.rows.length
  })
}
