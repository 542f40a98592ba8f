import type { Database } from '../../db/database.ts'

/** A destination that delivers for one ad account, with its tracker. */
export interface BoundDestination {
  trackerId: string
  trackerName: string
  id: string
  datasetId: string
  status: string
  statusReason: string | null
  testModeUntil: Date | null
}

/** Destinations that one read looks at. */
const DESTINATIONS_MAX = 50

export interface AccountPlace {
  workspaceId: number
  adAccountId: number
}

/** The destinations of a workspace that are bound to the ad account, by tracker. */
export async function findBoundDestinations(
  { pool }: Database,
  { workspaceId, adAccountId }: AccountPlace,
): Promise<BoundDestination[]> {
  const { rows } = await pool.query({
    name: 'find-bound-destinations',
    text: `select tracker.id as tracker_id, tracker.name as tracker_name, destination.id,
             destination.config ->> 'dataset_id' as dataset_id, destination.status,
             destination.status_reason, destination.test_mode_until
           from trackers tracker
           join destinations destination on destination.tracker_id = tracker.id
             and destination.platform_ad_account_id = $2::integer
           where tracker.workspace_id = $1::integer
           order by tracker.created_at, tracker.id, destination.created_at, destination.id
           limit ${DESTINATIONS_MAX}`,
    values: [workspaceId, adAccountId],
  })
  return rows.map(row => ({
    trackerId: row.tracker_id,
    trackerName: row.tracker_name,
    id: row.id,
    datasetId: row.dataset_id,
    status: row.status,
    statusReason: row.status_reason,
    testModeUntil: row.test_mode_until,
  }))
}
