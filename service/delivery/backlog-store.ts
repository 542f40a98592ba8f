import type { Database } from '../db/database.ts'

/** What is due and not settled yet, of all processes on this store. */
export interface Backlog {
  dueLanes: number
  /** How long the delivery that has waited longest is due; 0 when none is. */
  oldestDueSeconds: number
}

export type BacklogByStatus = Record<'active' | 'inactive', Backlog>

/** Whoever asks would rather hear nothing than wait longer. */
const ANSWER_MILLISECONDS_MAX = 3_000

/**
 * What is due, apart for destinations that work and for those that are paused, where waiting is
 * what should happen. Each lane is asked for its first row by the lane index: like `findDueLanes`
 * it reads one row a lane, however many wait, and never counts them.
 */
export async function readBacklog({ pool }: Database, now: Date): Promise<BacklogByStatus> {
  const statement = {
    name: 'read-backlog',
    text: `select lane.status, count(*) as due_lanes, min(due.next_attempt_at) as oldest_at
           from destinations lane
           cross join lateral (
             select next_attempt_at from deliveries
             where deliveries.tracker_id = lane.tracker_id
               and deliveries.destination_id = lane.id
               and deliveries.next_attempt_at <= $1
             order by next_attempt_at limit 1
           ) due
           group by lane.status`,
    values: [now],
    query_timeout: ANSWER_MILLISECONDS_MAX,
  }
  const { rows } = await pool.query(statement)
  const backlog: BacklogByStatus = {
    active: { dueLanes: 0, oldestDueSeconds: 0 },
    inactive: { dueLanes: 0, oldestDueSeconds: 0 },
  }
  for (const row of rows) {
    const oldestDueSeconds = (now.getTime() - row.oldest_at.getTime()) / 1_000
    backlog[row.status as keyof BacklogByStatus] = { dueLanes: row.due_lanes, oldestDueSeconds }
  }
  return backlog
}
