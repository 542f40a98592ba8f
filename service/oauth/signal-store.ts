import type { Database } from '../db/database.ts'

export interface Signals {
  /** A tracker of the workspace has stored an event. */
  hasEvents: boolean
  /** An active destination of the workspace delivers for this ad account. */
  hasDestination: boolean
}

/** Whether the signals of an ad account arrive. Each tracker answers from an index, for itself. */
export async function findSignals(
  { pool }: Database,
  { workspaceId, adAccountId }: { workspaceId: number; adAccountId: number },
): Promise<Signals> {
  const { rows } = await pool.query({
    name: 'find-signals',
    text: `select
             coalesce(bool_or(exists (
               select 1 from event_counts counts where counts.tracker_id = trackers.id
             )), false) as has_events,
             coalesce(bool_or(exists (
               select 1 from destinations destination
               where destination.tracker_id = trackers.id and destination.status = 'active'
                 and destination.platform_ad_account_id = $2
             )), false) as has_destination
           from trackers where trackers.workspace_id = $1`,
    values: [workspaceId, adAccountId],
  })
  return {
    hasEvents: rows[0]?.has_events === true,
    hasDestination: rows[0]?.has_destination === true,
  }
}
