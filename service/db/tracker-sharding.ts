import { type Database, isCitusCluster } from './database.ts'

/** The tracker that a statement names, or none. */
export interface TrackerCondition {
  /** The value of the parameter in `condition`, or no value. */
  values: readonly string[]
  /** That a row is of the tracker, as SQL after another condition; empty where none is named. */
  condition: (column: string, parameter: number) => string
}

const NO_CONDITION: TrackerCondition = { values: [], condition: () => '' }

function trackerCondition(trackerId: string): TrackerCondition {
  return {
    values: [trackerId],
    condition: (column, parameter) => `and ${column} = $${parameter}::uuid`,
  }
}

/**
 * Asks for rows of several trackers: all at once on one PostgreSQL, and tracker by tracker on a
 * Citus cluster. There a statement goes to one shard when it names its tracker by a parameter, and
 * to all shards of all nodes when it joins its table with a list.
 */
export async function queryByTracker<Row extends { trackerId: string }, Answer>(
  database: Pick<Database, 'pool'>,
  rows: readonly Row[],
  ask: (rows: readonly Row[], own: TrackerCondition) => Promise<Answer[]>,
): Promise<Answer[]> {
  if (!(await isCitusCluster(database))) return ask(rows, NO_CONDITION)
  const answers: Answer[] = []
  for (const [trackerId, own] of Map.groupBy(rows, row => row.trackerId)) {
    answers.push(...(await ask(own, trackerCondition(trackerId))))
  }
  return answers
}

/** A part of a batch: rows of one tracker. */
export interface TrackerBatch {
  trackerId: string
  /** Rows to delete at most. */
  limit: number
}

/**
 * Deletes a batch of at most `rowsMax` rows, tracker by tracker: on a Citus cluster a statement
 * that locks rows names one tracker. Returns how many it deleted, as `deleteRows` does.
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
