import type { Database } from '../db/database.ts'

/** Waiting deliveries that are looked at. Beyond, the counts say "at least". */
const WAITING_MAX = 50_000

/** What still waits of one UTC day, of one event name, by the event's own time as it is sent. */
export interface WaitingOfDay {
  eventName: string
  waiting: number
  /** Of these, the ones whose request is under way or got no usable answer. */
  inFlight: number
}

export interface WaitingCounts {
  names: WaitingOfDay[]
  /** More waits than was looked at. */
  isCut: boolean
}

/** What of a day's events has not come to its end in the lane of one destination. */
export async function countWaitingOfDay(
  { pool }: Database,
  {
    trackerId,
    destinationId,
    from,
    until,
  }: {
    trackerId: string
    destinationId: string
    from: Date
    until: Date
  },
): Promise<WaitingCounts> {
  const { rows } = await pool.query({
    name: 'count-waiting-of-day',
    // `limit 1` keeps the planner from reading all events to find those of the few that wait.
    text: `with waiting as materialized (
             select created_at, event_id, space,
               status = 'sent' or status_reason = 'unknown' as is_in_flight
             from delivery_queue
             where tracker_id = $1::uuid and destination_id = $2::uuid
             limit ${WAITING_MAX}
           ), of_day as (
             select event.event_name, count(*) as waiting,
               count(*) filter (where waiting.is_in_flight) as in_flight
             from waiting cross join lateral (
               select event_name, least(event_time, created_at) as sent_time from events
               where tracker_id = $1::uuid and created_at = waiting.created_at
                 and event_id = waiting.event_id and space = waiting.space
               limit 1
             ) event
             where event.sent_time >= $3::timestamptz and event.sent_time < $4::timestamptz
             group by event.event_name order by event.event_name
           )
           select coalesce((select json_agg(of_day) from of_day), '[]'::json) as names,
             (select count(*) from waiting) = ${WAITING_MAX} as is_cut`,
    values: [trackerId, destinationId, from, until],
  })
  const [{ names, is_cut: isCut }] = rows
  return { names: names.map(waitingOf), isCut }
}

function waitingOf(row: { event_name: string; waiting: number; in_flight: number }): WaitingOfDay {
  return { eventName: row.event_name, waiting: row.waiting, inFlight: row.in_flight }
}
