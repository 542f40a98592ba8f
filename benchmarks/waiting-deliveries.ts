import type { Database } from '../service/db/database.ts'

/** Deliveries of one tracker that wait, alike in status and attempts. */
export interface WaitingDeliveries {
  status: string
  attempts: number
  count: number
  /** Of them, those whose next attempt is planned for later. */
  notDueCount: number
  /** Until the last one of them is due. */
  dueSeconds: number
}

export async function waitingDeliveries(
  { pool }: Database,
  trackerId: string,
): Promise<WaitingDeliveries[]> {
  const { rows } = await pool.query(
    `select status, attempt_count as attempts, count(*)::integer as count,
       count(*) filter (where next_attempt_at > now())::integer as not_due,
       extract(epoch from max(next_attempt_at) - now())::double precision as due_seconds
     from all_deliveries where tracker_id = $1 and next_attempt_at is not null
     group by status, attempt_count order by status, attempt_count`,
    [trackerId],
  )
  return rows.map(({ status, attempts, count, not_due, due_seconds }) => ({
    status,
    attempts,
    count,
    notDueCount: not_due,
    dueSeconds: Math.max(due_seconds, 0),
  }))
}
