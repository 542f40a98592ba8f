import type { ReconciliationReport } from '@signalbox/contract/reports.ts'
import { queryOptions } from '@tanstack/react-query'
import { call, pathOf } from '../api/client.ts'
import type { ReportSearch } from './report-search.ts'

const REPORTS = '/workspaces/:workspace/trackers/:tracker/reports'

interface TrackerParams {
  workspace: string
  tracker: string
}

type Range = Pick<ReportSearch, 'from' | 'to'>

/** A range of 92 days of many destinations has fewer. */
const PAGES_MAX = 40

/** All reports of a range: a chart needs every day of it. */
export const reconciliationQuery = (params: TrackerParams, { from = '', to = '' }: Range) =>
  queryOptions({
    queryKey: ['reconciliation', params.tracker, from, to],
    async queryFn({ signal }) {
      const reports: ReconciliationReport[] = []
      let cursor: string | null = ''
      let range = { from: '', to: '' }
      for (let pages = 0; cursor !== null && pages < PAGES_MAX; pages += 1) {
        const page = await readPage(params, { from, to, cursor }, signal)
        reports.push(...page.reports)
        range = { from: page.from, to: page.to }
        cursor = page.next_cursor
      }
      return { ...range, reports }
    },
  })

function readPage(params: TrackerParams, query: Range & { cursor: string }, signal: AbortSignal) {
  return call(`GET ${REPORTS}/reconciliation`, { params, query: { ...query }, signal })
}

export const matchQualityQuery = (params: TrackerParams, { from, to }: Range) =>
  queryOptions({
    queryKey: ['match-quality', params.tracker, from, to],
    queryFn: ({ signal }) =>
      call(`GET ${REPORTS}/match-quality`, { params, query: { from, to }, signal }),
  })

/** The address of a report as CSV. */
export function csvPath(params: TrackerParams, { report, from, to }: ReportSearch): string {
  const query = { from, to }
  return report === 'match-quality'
    ? pathOf(`GET ${REPORTS}/match-quality.csv`, { params, query })
    : pathOf(`GET ${REPORTS}/reconciliation.csv`, { params, query })
}

/** A destination in one short text, such as "meta 1234567890". */
export function formatDestination(destination: {
  type: string
  config: Record<string, unknown> | null
}): string {
  const { test_event_code, test_mode_until, status_reason, ...target } = destination.config ?? {}
  return [destination.type, ...Object.values(target)].join(' ')
}
