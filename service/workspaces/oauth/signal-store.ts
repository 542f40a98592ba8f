import type { Database } from '../../runtime/db/database.ts'
import { createWorkspaceCondition } from '../../runtime/db/workspace-condition.ts'

interface SignalStatus {
  /** A tracker of the workspace has stored an event. */
  hasEvents: boolean
  /** An active destination of the workspace delivers for this ad account. */
  hasDestination: boolean
}

/** Reads whether the signals of an ad account arrive. Stops at the first row of an index. */
export async function findSignalStatus(
  database: Database,
  { workspaceId, adAccountId }: { workspaceId: number; adAccountId: number },
): Promise<SignalStatus> {
  const own = await createWorkspaceCondition(database, workspaceId)
  const { rows } = await database.pool.query({
    name: 'find-signals',
    text: `select
             exists (
               select 1 from trackers
               join event_counts counts on counts.tracker_id = trackers.id
                 ${own.condition('counts.tracker_id', 3)}
               where trackers.workspace_id = $1::integer limit 1
             ) as has_events,
             exists (
               select 1 from trackers
               join destinations destination on destination.tracker_id = trackers.id
                 ${own.condition('destination.tracker_id', 3)}
               where trackers.workspace_id = $1::integer and destination.status = 'active'
                 and destination.platform_ad_account_id = $2::integer limit 1
             ) as has_destination`,
    values: [workspaceId, adAccountId, ...own.values],
  })
  return {
    hasEvents: rows[0]?.has_events === true,
    hasDestination: rows[0]?.has_destination === true,
  }
}
