import Type from 'typebox'
import { ReconciliationReport } from '../reports.ts'
import { DayRangeQuery, MatchQualityReport, ReconciliationRange, ReportToMake } from './reports.ts'
import { ALL_REFUSALS, CursorQuery, query, write } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

const csv = { 200: Type.String(), ...ALL_REFUSALS } as const

/**
 * `?from=` and `?to=` are UTC days, both included; the last 30 days by default, at most 92. The
 * downloads have all rows of the range.
 */
export const getMatchQuality = query('getMatchQuality', `${TRACKER_PATH}/reports/match-quality`, {
  querystring: DayRangeQuery,
  response: {
    200: MatchQualityReport,
    ...ALL_REFUSALS,
  },
})
export const downloadMatchQuality = query(
  'downloadMatchQuality',
  `${TRACKER_PATH}/reports/match-quality.csv`,
  {
    querystring: DayRangeQuery,
    response: csv,
  },
)
/** `?cursor=` leads to older days. */
export const listReconciliations = query(
  'listReconciliations',
  `${TRACKER_PATH}/reports/reconciliation`,
  {
    querystring: Type.Object({ ...DayRangeQuery.properties, ...CursorQuery.properties }),
    response: { 200: ReconciliationRange, ...ALL_REFUSALS },
  },
)
export const downloadReconciliations = query(
  'downloadReconciliations',
  `${TRACKER_PATH}/reports/reconciliation.csv`,
  {
    querystring: DayRangeQuery,
    response: csv,
  },
)

/**
 * Asks the platform now, also about a day that has not ended: the scheduled report replaces it. 404
 * also for a destination of another tracker.
 */
export const makeReconciliation = write(
  'makeReconciliation',
  `POST ${TRACKER_PATH}/reports/reconciliation`,
  { body: ReportToMake, response: { 200: ReconciliationReport, ...ALL_REFUSALS } },
)

export const REPORT_OPERATIONS = [
  ...[getMatchQuality, downloadMatchQuality],
  ...[listReconciliations, downloadReconciliations, makeReconciliation],
] as const
