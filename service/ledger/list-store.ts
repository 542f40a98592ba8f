import type { Database } from '../db/database.ts'
import type { EventPlace } from './event-space.ts'

export interface ListedEvents {
  total: number
  /** The newest first. Empty when the list ends before the page. */
  events: EventPlace[]
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
             from event_counts where tracker_id = $1::uuid group by received_on
           ), start as (
             select received_on, until - events as before
             from days where until > $2::bigint and until - events <= $2::bigint
           )
           select coalesce((select max(until) from days), 0)::bigint as total, page.*
           from (select 1) always
           left join lateral (
             select page.created_at, page.event_id, page.space
             from start cross join lateral (
               select event_id, created_at, space from events
               where tracker_id = $1::uuid
                 and created_at < (start.received_on + 1)::timestamp at time zone 'UTC'
               order by created_at desc, event_id desc, space desc
               offset $2::bigint - start.before limit $3::integer
             ) page
           ) page on true
           order by page.created_at desc, page.event_id desc, page.space desc`,
    values: [trackerId, offset, limit],
  })
  const events = rows
    .filter(row => row.event_id !== null)
    .map(row => ({ eventId: row.event_id, createdAt: row.created_at, space: row.space }))
  return { total: rows[0].total, events }
}
