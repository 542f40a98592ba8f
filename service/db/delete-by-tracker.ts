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
