import type { Database } from '../service/db/database.ts'

/** Moves waiting deliveries of events into the history with a final status, as settling does. */
export async function finishDeliveries(
  { pool }: Pick<Database, 'pool'>,
  eventIds: readonly string[],
  { status, updatedAt = new Date() }: { status: string; updatedAt?: Date },
): Promise<void> {
  await pool.query(
    `with gone as (delete from delivery_queue where event_id = any($1::text[]) returning *)
     insert into deliveries (tracker_id, created_at, id, event_id, space, destination_id, status,
       status_reason, is_test, updated_at)
     select tracker_id, created_at, id, event_id, space, destination_id, $2::text, $2::text,
       is_test, $3::timestamptz
     from gone`,
    [eventIds, status, updatedAt],
  )
}
