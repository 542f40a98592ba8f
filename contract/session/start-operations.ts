import { FOUND_REFUSALS, read } from './session-operation.ts'
import { StartChecklist } from './start.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

/** What is set up and what has arrived, for a page that waits for the first event. */
export const readStartChecklist = read('readStartChecklist', `${TRACKER_PATH}/start`, {
  200: StartChecklist,
  ...FOUND_REFUSALS,
})

export const START_OPERATIONS = [readStartChecklist] as const
