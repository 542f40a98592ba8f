import { IssueList, IssueQuery, RefusalList, RefusalQuery } from './issues.ts'
import { EventFlow, FlowQuery, OverviewQuery, TrackerOverview } from './overview.ts'
import { ALL_REFUSALS, query } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

/** `?hours=` from 1 to 720, 24 by default. */
export const getOverview = query('getOverview', `${TRACKER_PATH}/overview`, {
  querystring: OverviewQuery,
  response: {
    200: TrackerOverview,
    ...ALL_REFUSALS,
  },
})

/** `?from=` and `?to=` are UTC days, at most 92; `?by=` is the day that decides. */
export const getEventFlow = query('getEventFlow', `${TRACKER_PATH}/flow`, {
  querystring: FlowQuery,
  response: { 200: EventFlow, ...ALL_REFUSALS },
})

/** `?days=` from 1 to 30, 7 by default. */
export const listIssues = query('listIssues', `${TRACKER_PATH}/issues`, {
  querystring: IssueQuery,
  response: {
    200: IssueList,
    ...ALL_REFUSALS,
  },
})

/** `?days=` as above, or `?event_id=`: the refusals of one event ID in the last 30 days. */
export const listRefusals = query('listRefusals', `${TRACKER_PATH}/refusals`, {
  querystring: RefusalQuery,
  response: {
    200: RefusalList,
    ...ALL_REFUSALS,
  },
})

export const ISSUE_OPERATIONS = [getOverview, getEventFlow, listIssues, listRefusals] as const
