import { type Database, isCitusCluster } from './database.ts'

/** A condition on the tracker of a statement, or none. */
export interface TrackerCondition {
  /** The value of the parameter in `condition`; empty without a condition. */
  values: readonly string[]
  /** SQL that follows another condition; empty without a condition. */
  condition: (column: string, parameter: number) => string
}

const NO_CONDITION: TrackerCondition = { values: [], condition: () => '' }

function createTrackerCondition(trackerId: string): TrackerCondition {
  return {
    values: [trackerId],
    condition: (column, parameter) => `and ${column} = $${parameter}::uuid`,
  }
}

/**
 * Queries rows of several trackers: with one statement on one PostgreSQL, tracker by tracker on a
 * Citus cluster. There a statement with its tracker as a parameter goes to one shard, and one that
 * joins its table with a list goes to all shards of all nodes.
 */
export async function queryByTracker<Row extends { trackerId: string }, Result>(
  database: Pick<Database, 'pool'>,
  rows: readonly Row[],
  query: (rows: readonly Row[], tracker: TrackerCondition) => Promise<Result[]>,
): Promise<Result[]> {
  if (!(await isCitusCluster(database))) return query(rows, NO_CONDITION)
  const results: Result[] = []
  for (const [trackerId, trackerRows] of Map.groupBy(rows, row => row.trackerId)) {
    results.push(...(await query(trackerRows, createTrackerCondition(trackerId))))
  }
  return results
}

/** The part of a batch that belongs to one tracker. */
export interface TrackerBatch {
  trackerId: string
  /** The most rows to delete. */
  limit: number
}

/**
 * Deletes a batch of at most `rowsMax` rows, tracker by tracker, because on a Citus cluster a
 * statement that locks rows must name one tracker. Returns the number of deleted rows, as
 * `deleteRows` does.
 */
export async function deleteByTracker(
  trackerIds: readonly string[],
  rowsMax: number,
  deleteRows: (batch: TrackerBatch) => Promise<number>,
): Promise<number> {
  let deleted = 0
  for (const trackerId of trackerIds) {
    deleted += await deleteRows({ trackerId, limit: rowsMax - deleted })
    if (deleted === rowsMax) break
  }
  return deleted
}
