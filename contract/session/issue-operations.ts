import { IssueList, RefusalList } from './issues.ts'
import { TrackerOverview } from './overview.ts'
import { ALL_REFUSALS, read } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

/** `?hours=` from 1 to 720, 24 by default. */
export const getOverview = read('getOverview', `${TRACKER_PATH}/overview`, {
  200: TrackerOverview,
  ...ALL_REFUSALS,
})

/** `?days=` from 1 to 30, 7 by default. */
export const listIssues = read('listIssues', `${TRACKER_PATH}/issues`, {
  200: IssueList,
  ...ALL_REFUSALS,
})

/** `?days=` as above, or `?event_id=`: the refusals of one event ID in the last 30 days. */
export const listRefusals = read('listRefusals', `${TRACKER_PATH}/refusals`, {
  200: RefusalList,
  ...ALL_REFUSALS,
})

export const ISSUE_OPERATIONS = [getOverview, listIssues, listRefusals] as const
