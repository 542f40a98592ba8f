import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { DESTINATION_STATUSES, type DestinationStatus } from '@signalbox/contract/destinations.ts'
import type { Database } from '../../runtime/db/database.ts'
import { createWorkspaceCondition } from '../../runtime/db/sql-fragments.ts'

/** The time of the newest event of each tracker, excluding verification events. */
export async function findLastEvents(
  { pool }: Database,
  trackerIds: readonly string[],
): Promise<Map<string, Date>> {
  const found = new Map<string, Date>()
  for (const trackerId of new Set(trackerIds)) {
    const { rows } = await pool.query({
      name: 'find-last-event',
      text: `select created_at from events
             where tracker_id = $1::uuid and event_class is distinct from 'verification'
             order by created_at desc limit 1`,
      values: [trackerId],
    })
    if (rows[0]) found.set(trackerId, rows[0].created_at)
  }
  return found
}

export interface DestinationSignals {
  destinationId: string
  lastAcceptedAt: Date | null
  /** Live deliveries by status. */
  deliveries: Record<string, number>
  /** Due time of the oldest due delivery; null if none is due. */
  oldestDueAt: Date | null
  /** The newest event match quality, as decimal text. */
  matchQuality: string | null
  /** Sentences for people, without names that callers chose (reports/alert.ts). */
  alerts: string[]
}

interface DestinationPairs {
  /** Parallel arrays: the tracker of each destination. */
  trackerIds: readonly string[]
  destinationIds: readonly string[]
}

/** Limits of deliveries and attempts read per tracker, newest first. */
const DELIVERIES_MAX = 20_000
const ATTEMPTS_MAX = 10_000

/** Runs one statement per destination; each subquery reads a bounded index range. */
export async function findDestinationSignals(
  { pool }: Database,
  { trackerIds, destinationIds }: DestinationPairs,
  { now, since }: { now: Date; since: Date },
): Promise<DestinationSignals[]> {
  const signals: DestinationSignals[] = []
  for (const [index, trackerId] of trackerIds.entries()) {
    const destinationId = destinationIds[index] as string
    const { rows } = await pool.query({
      name: 'find-destination-signals',
      text: DESTINATION_SIGNALS,
      values: [trackerId, destinationId, now, since],
    })
    const [row] = rows
    signals.push({
      destinationId,
      lastAcceptedAt: row.last_accepted_at,
      deliveries: row.deliveries ?? {},
      oldestDueAt: row.oldest_due_at,
      matchQuality: row.score,
      alerts: row.sentences ?? [],
    })
  }
  return signals
}

const OF_DESTINATION = 'tracker_id = $1::uuid and destination_id = $2::uuid'

const LAST_ACCEPTED = `
  select started_at
  from (
    select started_at, destination_id, outcome, is_test from send_attempts
    where tracker_id = $1::uuid
    order by started_at desc, id desc limit ${ATTEMPTS_MAX}
  ) newest
  where destination_id = $2::uuid and outcome = 'accepted' and not is_test
  order by started_at desc limit 1`

const DELIVERY_COUNTS = `
  select json_object_agg(status, count order by status)
  from (
    select status, count(*) as count
    from (
      select status, destination_id, is_test from all_deliveries
      where tracker_id = $1::uuid and created_at >= $4::timestamptz
      order by created_at desc limit ${DELIVERIES_MAX}
    ) newest
    where destination_id = $2::uuid and not is_test
    group by status
  ) of_status`

const DESTINATION_SIGNALS = `
  select (${LAST_ACCEPTED}) as last_accepted_at,
    (${DELIVERY_COUNTS}) as deliveries,
    (
      select next_attempt_at from delivery_queue
      where ${OF_DESTINATION} and next_attempt_at <= $3::timestamptz
      order by next_attempt_at limit 1
    ) as oldest_due_at,
    (
      select score from emq_snapshots where ${OF_DESTINATION} order by measured_on desc limit 1
    ) as score,
    (
      select array_agg(sentence order by raised_at, id) from alerts
      where ${OF_DESTINATION} and resolved_at is null
    ) as sentences`

/** A destination that is bound to an ad account, with its tracker. */
export interface BoundDestination {
  trackerId: string
  trackerName: string
  id: string
  /** Destinations that share it are counted as one by their platform. */
  reportingKey: string
  status: Stored<DestinationStatus>
  statusReason: string | null
  testModeUntil: Date | null
}

const DESTINATIONS_MAX = 50

interface AdAccountScope {
  workspaceId: number
  adAccountId: number
}

/** The trackers of those destinations. */
export async function findBoundTrackers(
  database: Database,
  scope: AdAccountScope,
): Promise<string[]> {
  const destinations = await findBoundDestinations(database, scope)
  return [...new Set(destinations.map(({ trackerId }) => trackerId))]
}

/** The destinations of a workspace that are bound to the ad account, ordered by tracker. */
export async function findBoundDestinations(
  database: Database,
  { workspaceId, adAccountId }: AdAccountScope,
): Promise<BoundDestination[]> {
  const own = await createWorkspaceCondition(database, workspaceId)
  const { rows } = await database.pool.query({
    name: 'find-bound-destinations',
    text: `select tracker.id as tracker_id, tracker.name as tracker_name, destination.id,
             destination.type || ' ' || destination.config::text as reporting_key,
             destination.status, destination.status_reason, destination.test_mode_until
           from trackers tracker
           join destinations destination on destination.tracker_id = tracker.id
             and destination.platform_ad_account_id = $2::integer
             and destination.disconnected_at is null
             ${own.condition('destination.tracker_id', 3)}
           where tracker.workspace_id = $1::integer
           order by tracker.created_at, tracker.id, destination.created_at, destination.id
           limit ${DESTINATIONS_MAX}`,
    values: [workspaceId, adAccountId, ...own.values],
  })
  return rows.map(row => ({
    trackerId: row.tracker_id,
    trackerName: row.tracker_name,
    id: row.id,
    reportingKey: row.reporting_key,
    status: parseStored(DESTINATION_STATUSES, row.status),
    statusReason: row.status_reason,
    testModeUntil: row.test_mode_until,
  }))
}
