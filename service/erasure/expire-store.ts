import type { Database } from '../db/database.ts'
import { expireDeliveriesExpressions } from '../delivery/expire-store.ts'
import { expireEventsExpressions, type RowwisePartition } from '../ledger/expire-store.ts'

export interface OldEvents {
  trackerId: string
  /** The first UTC day that is kept. */
  keptSince: string
  /** The last event of the batch before; null for the first one. */
  after: EventPosition | null
}

/** Where an event stands among those of its tracker; the time as PostgreSQL writes it. */
export interface EventPosition {
  createdAt: string
  eventId: string
}

export interface ExpiredEvents {
  events: number
  deliveries: number
  /** Null when there were no more. */
  last: EventPosition | null
}

/** One transaction: the events, their deliveries and what was counted of them, or nothing. */
const expireFrom = (partition: RowwisePartition) => `
  with ${expireEventsExpressions(partition)},${expireDeliveriesExpressions()}
  select (select count(*) from gone) as events,
    (select count(*) from gone_deliveries) as deliveries,
    due.created_at::text as last_at, due.event_id as last_id
  from due order by due.created_at desc, due.event_id desc limit 1`

/**
 * Expires a batch of a tracker's oldest events with all that hangs on them. What another process
 * is expiring at this moment is left to it.
 */
export async function expireEvents(
  { pool }: Database,
  partition: RowwisePartition,
  { trackerId, keptSince, after }: OldEvents,
): Promise<ExpiredEvents> {
  const { rows } = await pool.query({
    text: expireFrom(partition),
    values: [trackerId, keptSince, after?.createdAt ?? '-infinity', after?.eventId ?? ''],
  })
  const [row] = rows
  if (!row) return { events: 0, deliveries: 0, last: null }
  const last = { createdAt: row.last_at, eventId: row.last_id }
  return { events: row.events, deliveries: row.deliveries, last }
}
