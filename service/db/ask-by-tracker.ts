import type { Database } from './database.ts'
import { isOfCluster } from './distribute-tables.ts'

/**
 * Asks for rows of several trackers: all at once on one PostgreSQL, and tracker by tracker on a
 * Citus cluster. There a statement goes to one shard when it names its tracker by a parameter, and
 * to all shards of all nodes when it joins its table with a list. `ask` gets that parameter's value
 * in a list, which is empty where the statement names no tracker.
 */
export async function askByTracker<Row extends { trackerId: string }, Answer>(
  database: Pick<Database, 'pool'>,
  rows: readonly Row[],
  ask: (rows: readonly Row[], own: readonly string[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  if (!(await isOfCluster(database))) return ask(rows, [])
  const answers: Answer[] = []
  for (const [trackerId, rowsOfTracker] of Map.groupBy(rows, row => row.trackerId)) {
    answers.push(...(await ask(rowsOfTracker, [trackerId])))
  }
  return answers
}
