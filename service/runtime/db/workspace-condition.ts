import {
  type Database,
  isCitusCluster,
  NO_TRACKER_CONDITION,
  type TrackerCondition,
} from './database.ts'
import { arrayLiteral } from './sql-fragments.ts'

/**
 * A condition that changes nothing in a statement that joins the trackers of a workspace. Without
 * it a Citus cluster asks every node, and fails when any of them is down. One PostgreSQL needs no
 * condition and no query for it.
 */
export async function createWorkspaceCondition(
  database: Database,
  workspaceId: number,
): Promise<TrackerCondition> {
  if (!(await isCitusCluster(database))) return NO_TRACKER_CONDITION
  const { rows } = await database.pool.query({
    name: 'list-trackers-of-workspace',
    text: 'select id from trackers where workspace_id = $1::integer',
    values: [workspaceId],
  })
  return {
    values: [arrayLiteral(rows.map(({ id }) => id))],
    condition: (column, parameter) => `and ${column} = any($${parameter}::uuid[])`,
  }
}
