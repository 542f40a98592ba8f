import { COUNT_SLOT, utcDay } from '../db/count-slot.ts'
import type { Database } from '../db/database.ts'

/** Events that one statement expires at most; a batch takes some tens of milliseconds. */
export const EXPIRED_EVENTS = 1_000

/**
 * The ledger's part of the statement that expires a batch of one tracker's oldest events, as common
 * table expressions. Parameters: the tracker, the first day that is kept, and the time and the id
 * of the last event of the batch before, since everything up to there would be read again as dead
 * rows. `gone` holds the events; the kept counts are lowered with them, so that a list is never
 * longer or shorter than it says.
 */
export function expireEventsExpressions(): string {
  return `
    due as materialized (
      select tracker_id, event_id, created_at from events
      where tracker_id = $1 and created_at < $2::date::timestamp at time zone 'UTC'
        and (created_at, event_id) > ($3::timestamptz, $4::text)
      order by created_at, event_id limit ${EXPIRED_EVENTS} for update skip locked
    ),
    gone as (
      delete from events using due
      where events.tracker_id = due.tracker_id and events.event_id = due.event_id
      returning events.tracker_id, events.event_id, events.created_at
    ),
    uncounted as (
      insert into event_counts (tracker_id, received_on, slot, events)
      select $1::uuid, ${utcDay('created_at')}, ${COUNT_SLOT}, -count(*)
      from gone group by 2 order by 2
      on conflict (tracker_id, received_on, slot) do update
        set events = event_counts.events + excluded.events
    )`
}

/**
 * The trackers that have counts of a day before `keptSince`, which are those with events before it
 * and those where only the counts are left to be forgotten. One look into an index a tracker.
 */
export async function findExpiringTrackers(
  { pool }: Database,
  keptSince: string,
): Promise<string[]> {
  const { rows } = await pool.query(
    `select id from trackers
     where exists (
       select from event_counts
       where event_counts.tracker_id = trackers.id and received_on < $1::date
     )
     order by id`,
    [keptSince],
  )
  return rows.map(({ id }) => id)
}

/** Forgets the counts of days before `keptSince`, once no event of them is left. */
export async function forgetEventCounts(
  { pool }: Database,
  trackerId: string,
  keptSince: string,
): Promise<void> {
  await pool.query(
    `delete from event_counts
     where tracker_id = $1 and received_on < $2::date and ${hasNoEventBefore('$1', '$2')}`,
    [trackerId, keptSince],
  )
}

/** That a tracker has no event of a day before the given one, as SQL. */
export function hasNoEventBefore(tracker: string, day: string): string {
  return `not exists (
    select from events
    where events.tracker_id = ${tracker}
      and events.created_at < ${day}::date::timestamp at time zone 'UTC'
  )`
}
