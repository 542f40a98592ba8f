import { PROBLEM_KINDS, type ProblemKind } from '@signalbox/contract/alerts.ts'
import { parseStored, type Stored, storedText } from '@signalbox/contract/closed-set.ts'
import { sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { DEFAULT_THRESHOLDS } from './alert-threshold-store.ts'

const { unreachableMinutes: UNREACHABLE_MINUTES } = DEFAULT_THRESHOLDS

/** A problem of a destination that people should know about. */
export interface Problem {
  /** Names one occurrence: a problem that ends and begins again has another key or is new. */
  key: string
  kind: Stored<ProblemKind>
  trackerId: string
  trackerName: string
  destinationId: string
  platform: string
  config: Record<string, unknown>
  /** The sentence of the alert, or why the destination is inactive. */
  reason: string | null
  /** Since when a destination cannot be reached. */
  since: Date | null
}

/**
 * Open alerts, and destinations that are inactive or have been unreachable for as long as their
 * workspace chose, without those that a person paused, because people know of these. A shorter
 * outage ends by itself, and the deliveries are retried anyway. Both parts read partial indexes
 * that hold problems only. Citus joins them by tracker.
 */
function openProblems(at: Date) {
  return sql`
    select trackers.workspace_id, 'alert/' || alerts.tracker_id || '/' || alerts.id as alert_key,
      alerts.kind, alerts.tracker_id, trackers.name as tracker_name, alerts.destination_id,
      destinations.type, destinations.config, alerts.sentence as reason,
      null::timestamptz as since
    from alerts
    join trackers on trackers.id = alerts.tracker_id
    join destinations on destinations.tracker_id = alerts.tracker_id
      and destinations.id = alerts.destination_id
    where alerts.resolved_at is null
    union all
    select trackers.workspace_id,
      'destination/' || destinations.id || '/' || state.name as alert_key,
      'destination_' || state.name as kind, destinations.tracker_id, trackers.name as tracker_name,
      destinations.id as destination_id, destinations.type, destinations.config,
      destinations.status_reason as reason, destinations.backoff_since as since
    from destinations
    join trackers on trackers.id = destinations.tracker_id
    left join alert_thresholds on alert_thresholds.workspace_id = trackers.workspace_id
    cross join lateral (
      select case when destinations.status = 'inactive' then 'inactive' else 'unreachable' end
    ) as state(name)
    where (destinations.status = 'inactive' or destinations.backoff_cause = 'unreachable')
      and destinations.paused_at is null and destinations.disconnected_at is null
      and (destinations.status = 'inactive'
        or destinations.backoff_since <= ${at}::timestamptz - make_interval(
          mins => coalesce(alert_thresholds.unreachable_minutes, ${UNREACHABLE_MINUTES}::integer)))`
}

/** Workspaces with a problem that was not announced, or an announced one that is resolved. */
export async function findWorkspacesToUpdate(
  { query }: Pick<Database, 'query'>,
  { at, limit }: { at: Date; limit: number },
): Promise<number[]> {
  // Each key is on one side or on both.
  const { rows } = await sql<{ workspace_id: number }>`
    select distinct workspace_id from (
      select workspace_id, alert_key from (
        select workspace_id, alert_key from (${openProblems(at)}) as problem
        union all
        select workspace_id, alert_key from announced_alerts
      ) as either
      group by workspace_id, alert_key having count(*) = 1
    ) as changed
    order by workspace_id limit ${limit}::integer`.execute(query)
  return rows.map(row => row.workspace_id)
}

interface ProblemSearch {
  workspaceId: number
  at: Date
  limit: number
}

export async function listProblems(
  { query }: Transaction,
  { workspaceId, at, limit }: ProblemSearch,
): Promise<Problem[]> {
  const { rows } = await sql<ProblemRow>`
    select * from (${openProblems(at)}) as problem
    where workspace_id = ${workspaceId}::integer
    order by alert_key limit ${limit}::integer`.execute(query)
  return rows.map(row => ({
    key: row.alert_key,
    kind: parseStored(PROBLEM_KINDS, row.kind),
    trackerId: row.tracker_id,
    trackerName: row.tracker_name,
    destinationId: row.destination_id,
    platform: row.type,
    config: row.config,
    reason: row.reason,
    since: row.since,
  }))
}

interface ProblemRow {
  alert_key: string
  kind: string
  tracker_id: string
  tracker_name: string
  destination_id: string
  type: string
  config: Record<string, unknown>
  reason: string | null
  since: Date | null
}

/** A problem that people were told about. */
export interface AnnouncedAlert {
  key: string
  kind: Stored<ProblemKind>
  destinationId: string
  /** Where the problem is, for people. */
  place: string
  path: string
}

export async function listAnnouncedAlerts(
  { query }: Transaction,
  workspaceId: number,
  limit: number,
): Promise<AnnouncedAlert[]> {
  const rows = await query
    .selectFrom('announced_alerts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('alert_key')
    .limit(limit)
    .execute()
  return rows.map(row => ({
    key: row.alert_key,
    kind: parseStored(PROBLEM_KINDS, row.kind),
    destinationId: row.destination_id,
    place: row.place,
    path: row.path,
  }))
}

export async function insertAnnouncedAlert(
  { query }: Transaction,
  alert: AnnouncedAlert & { workspaceId: number; at: Date },
): Promise<void> {
  await query
    .insertInto('announced_alerts')
    .values({
      workspace_id: alert.workspaceId,
      alert_key: alert.key,
      kind: storedText(alert.kind),
      destination_id: alert.destinationId,
      place: alert.place,
      path: alert.path,
      announced_at: alert.at,
    })
    .execute()
}

export async function deleteAnnouncedAlert(
  { query }: Transaction,
  { workspaceId, key }: { workspaceId: number; key: string },
): Promise<void> {
  await query
    .deleteFrom('announced_alerts')
    .where('workspace_id', '=', workspaceId)
    .where('alert_key', '=', key)
    .execute()
}
