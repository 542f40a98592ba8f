import { FOUND_REFUSALS, read } from './browser-operation.ts'
import { TrackerList } from './trackers.ts'

/** The path of everything that belongs to one tracker. */
export const TRACKER_PATH = '/workspaces/:workspace/trackers/:tracker'

export const listTrackers = read('listTrackers', '/workspaces/:workspace/trackers', {
  200: TrackerList,
  ...FOUND_REFUSALS,
})

export const TRACKER_OPERATIONS = [listTrackers] as const
