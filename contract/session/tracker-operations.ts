import { ALL_REFUSALS, FOUND_REFUSALS, Nothing, read, write } from './session-operation.ts'
import { CreatedTracker, TrackerChange, TrackerList, TrackerSubmission } from './trackers.ts'

/** The path of everything that belongs to one tracker. */
export const TRACKER_PATH = '/workspaces/:workspace/trackers/:tracker'

export const listTrackers = read('listTrackers', '/workspaces/:workspace/trackers', {
  200: TrackerList,
  ...FOUND_REFUSALS,
})
export const createTracker = write('createTracker', 'POST /workspaces/:workspace/trackers', {
  body: TrackerSubmission,
  response: { 201: CreatedTracker, ...ALL_REFUSALS },
})
export const renameTracker = write('renameTracker', `PATCH ${TRACKER_PATH}`, {
  body: TrackerChange,
  response: { 204: Nothing, ...ALL_REFUSALS },
})

export const TRACKER_OPERATIONS = [listTrackers, createTracker, renameTracker] as const
