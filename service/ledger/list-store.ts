import type { Database } from '../db/database.ts'

export interface ListedEvents {
  total: number
  /** The newest first. Empty when the list ends before the page. */
  eventIds: string[]
}

/**
 * One page of a tracker's events, the newest first, in one snapshot with their number. The counts
 * by day tell on which day the page begins, so that a page deep in the list reads what came on that
 * day before it, and not everything that is newer (`npm run bench -- list`).
 */
export async function listEvents(
  { pool }: Database,
  { trackerId, offset, limit }: { trackerId: string; offset: number; limit: number },
): Promise<ListedEvents> {
  const { rows } = await pool.query({
    name: 'list-events',
    text: `with days as (
             select received_on, sum(events) as events,
               sum(sum(events)) over (order by received_on desc) as until
             from event_counts where tracker_id = $1 group by received_on
           ), start as (
             select received_on, until - events as before
             from days where until > $2::bigint and until - events <= $2::bigint
           )
           select coalesce((select max(until) from days), 0)::bigint as total, array(
             select page.event_id
             from start cross join lateral (
               select event_id, created_at from events
               where tracker_id = $1
                 and created_at < (start.received_on + 1)::timestamp at time zone 'UTC'
               order by created_at desc, event_id desc
               offset $2::bigint - start.before limit $3
             ) page
             order by page.created_at desc, page.event_id desc
           ) as event_ids`,
    values: [trackerId, offset, limit],
  })
  const [{ total, event_ids: eventIds }] = rows
  return { total, eventIds }
}
