import type { Database } from '../db/database.ts'
import { expireDeliveriesExpressions } from '../delivery/expire-store.ts'
import { buildExpireEventsCtes, type RowwisePartition } from '../events/event-expiry-store.ts'

export interface EventBatch {
  trackerId: string
  /** The first UTC day that is kept. */
  cutoffDay: string
  /** The last event of the batch before; null for the first one. */
  after: EventCursor | null
}

/** Where an event stands among those of its tracker; the time as PostgreSQL writes it. */
export interface EventCursor {
  createdAt: string
  eventId: string
}

export interface DeletedEvents {
  events: number
  deliveries: number
  /** Null when there were no more. */
  last: EventCursor | null
}

/** One transaction: the events, their deliveries and what was counted of them, or nothing. */
const buildExpireStatement = (partition: RowwisePartition) => `
  with ${buildExpireEventsCtes(partition)},${expireDeliveriesExpressions()}
  select (select count(*) from gone) as events,
    (select count(*) from gone_deliveries) as deliveries,
    due.created_at::text as last_at, due.event_id as last_id
  from due order by due.created_at desc, due.event_id desc limit 1`

/**
 * Expires a batch of a tracker's oldest events with all that hangs on them. What another process
 * is expiring at this moment is left to it.
 */
export async function deleteEventBatch(
  { pool }: Database,
  partition: RowwisePartition,
  { trackerId, cutoffDay: keptSince, after }: EventBatch,
): Promise<DeletedEvents> {
  const { rows } = await pool.query({
    text: buildExpireStatement(partition),
    values: [trackerId, keptSince, after?.createdAt ?? '-infinity', after?.eventId ?? ''],
  })
  const [row] = rows
  if (!row) return { events: 0, deliveries: 0, last: null }
  const last = { createdAt: row.last_at, eventId: row.last_id }
  return { events: row.events, deliveries: row.deliveries, last }
}
