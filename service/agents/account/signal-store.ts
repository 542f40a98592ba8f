import type { Database } from '../../db/database.ts'
import { arrayLiteral } from '../../db/row-arrays.ts'

/** The newest event of each tracker; a verification proves nothing of arrivals and is left out. */
export async function findLastEvents(
  { pool }: Database,
  trackerIds: readonly string[],
): Promise<Map<string, Date>> {
  const { rows } = await pool.query({
    name: 'find-last-events',
    text: `select tracker.id, newest.created_at
           from unnest($1::uuid[]) tracker(id)
           cross join lateral (
             select created_at from events
             where tracker_id = tracker.id and event_class <> 'verification'
             order by created_at desc limit 1
           ) newest`,
    values: [arrayLiteral(trackerIds)],
  })
  return new Map(rows.map(row => [row.id, row.created_at]))
}

/** What the deliveries of one destination say of it. */
export interface LaneSigns {
  destinationId: string
  lastAcceptedAt: Date | null
  /** By status, of live deliveries. */
  deliveries: Record<string, number>
  /** Since when the one that has waited longest is due; null when none is. */
  oldestDueAt: Date | null
  /** The newest score as decimal text. */
  matchQuality: string | null
  /** Sentences for people, without names that callers gave (reports/alert.ts). */
  alerts: string[]
}

export interface LaneNames {
  /** Pairs of the same length: whose destination. */
  trackerIds: readonly string[]
  destinationIds: readonly string[]
}

/** Of a tracker: the newest deliveries and requests that are looked at. */
const DELIVERIES_MAX = 20_000
const ATTEMPTS_MAX = 10_000

/** All signs of all lanes; each part reads a bounded range of an index. */
export async function findLaneSigns(
  { pool }: Database,
  { trackerIds, destinationIds }: LaneNames,
  { now, since }: { now: Date; since: Date },
): Promise<LaneSigns[]> {
  const { rows } = await pool.query({
    name: 'find-lane-signs',
    text: `select lane.destination_id, attempt.started_at as last_accepted_at,
             coalesce(delivery.counts, '{}') as deliveries, due.next_attempt_at as oldest_due_at,
             snapshot.score, alert.sentences
           from unnest($1::uuid[], $2::uuid[]) lane(tracker_id, destination_id)
           left join lateral (${LAST_ACCEPTED}) attempt on true
           left join lateral (${DELIVERY_COUNTS}) delivery on true
           left join lateral (
             select next_attempt_at from delivery_queue
             where delivery_queue.tracker_id = lane.tracker_id
               and delivery_queue.destination_id = lane.destination_id
               and delivery_queue.next_attempt_at <= $3::timestamptz
             order by next_attempt_at limit 1
           ) due on true
           left join lateral (
             select score from emq_snapshots
             where emq_snapshots.tracker_id = lane.tracker_id
               and emq_snapshots.destination_id = lane.destination_id
             order by measured_on desc limit 1
           ) snapshot on true
           left join lateral (
             select array_agg(sentence order by raised_at, id) as sentences from alerts
             where alerts.tracker_id = lane.tracker_id
               and alerts.destination_id = lane.destination_id and resolved_at is null
           ) alert on true`,
    values: [arrayLiteral(trackerIds), arrayLiteral(destinationIds), now, since],
  })
  return rows.map(row => ({
    destinationId: row.destination_id,
    lastAcceptedAt: row.last_accepted_at,
    deliveries: row.deliveries,
    oldestDueAt: row.oldest_due_at,
    matchQuality: row.score,
    alerts: row.sentences ?? [],
  }))
}

const LAST_ACCEPTED = `
  select started_at
  from (
    select started_at, destination_id, outcome, is_test from send_attempts
    where send_attempts.tracker_id = lane.tracker_id
    order by started_at desc, id desc limit ${ATTEMPTS_MAX}
  ) newest
  where newest.destination_id = lane.destination_id and outcome = 'accepted' and not is_test
  order by started_at desc limit 1`

const DELIVERY_COUNTS = `
  select json_object_agg(status, count order by status) as counts
  from (
    select status, count(*) as count
    from (
      select status, destination_id, is_test from all_deliveries
      where all_deliveries.tracker_id = lane.tracker_id and created_at >= $4::timestamptz
      order by created_at desc limit ${DELIVERIES_MAX}
    ) newest
    where newest.destination_id = lane.destination_id and not is_test
    group by status
  ) of_status`
