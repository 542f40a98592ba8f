import Type from 'typebox'
import { MatchQualityReport, ReconciliationRange } from './reports.ts'
import { ALL_REFUSALS, read } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

const csv = { 200: Type.String(), ...ALL_REFUSALS } as const

/**
 * `?from=` and `?to=` are UTC days, both included; the last 30 days by default, at most 92. The
 * downloads have all rows of the range.
 */
export const getMatchQuality = read('getMatchQuality', `${TRACKER_PATH}/reports/match-quality`, {
  200: MatchQualityReport,
  ...ALL_REFUSALS,
})
export const downloadMatchQuality = read(
  'downloadMatchQuality',
  `${TRACKER_PATH}/reports/match-quality.csv`,
  csv,
)
/** `?cursor=` leads to older days. */
export const listReconciliations = read(
  'listReconciliations',
  `${TRACKER_PATH}/reports/reconciliation`,
  { 200: ReconciliationRange, ...ALL_REFUSALS },
)
export const downloadReconciliations = read(
  'downloadReconciliations',
  `${TRACKER_PATH}/reports/reconciliation.csv`,
  csv,
)

export const REPORT_OPERATIONS = [
  ...[getMatchQuality, downloadMatchQuality],
  ...[listReconciliations, downloadReconciliations],
] as const
