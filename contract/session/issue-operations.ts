import {
  AlertThresholds,
  ChangedIssue,
  IssueChange,
  IssueList,
  IssueQuery,
  IssueSamples,
  RefusalList,
  RefusalQuery,
} from './issues.ts'
import { EventFlow, FlowQuery, TrackerOverview } from './overview.ts'
import { ALL_REFUSALS, FOUND_REFUSALS, query, read, write } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

export const getOverview = read('getOverview', `${TRACKER_PATH}/overview`, {
  200: TrackerOverview,
  ...FOUND_REFUSALS,
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

/** Of a delivery issue; 404 for an ID that names none. Read when a person looks. */
export const getIssueSamples = read('getIssueSamples', `${TRACKER_PATH}/issues/:issue/samples`, {
  200: IssueSamples,
  ...FOUND_REFUSALS,
})

/** Mutes, resolves or opens an issue of the last 30 days. A resolved one opens by itself. */
export const changeIssue = write('changeIssue', `PUT ${TRACKER_PATH}/issues/:issue`, {
  body: IssueChange,
  response: { 200: ChangedIssue, ...ALL_REFUSALS },
})

const THRESHOLDS_PATH = '/workspaces/:workspace/alert-thresholds'

export const getAlertThresholds = read('getAlertThresholds', THRESHOLDS_PATH, {
  200: AlertThresholds,
  ...FOUND_REFUSALS,
})
export const changeAlertThresholds = write('changeAlertThresholds', `PUT ${THRESHOLDS_PATH}`, {
  body: AlertThresholds,
  response: { 200: AlertThresholds, ...ALL_REFUSALS },
})

export const ISSUE_OPERATIONS = [
  ...[getOverview, getEventFlow, listIssues, listRefusals, getIssueSamples, changeIssue],
  ...[getAlertThresholds, changeAlertThresholds],
] as const
