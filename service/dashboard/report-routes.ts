import * as operations from '@signalbox/contract/session/report-operations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import type { DayRange } from '../signals/reports/match-quality-store.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { readDayRange } from './day-range.ts'
import { readCursor } from './page-cursor.ts'
import { formatMatchQualityCsv, readMatchQuality } from './read-match-quality.ts'
import {
  formatReconciliationCsv,
  parseReportPosition,
  readReconciliations,
} from './read-reconciliations.ts'
import { requireTracker } from './tracker-scope.ts'

/** Match quality and reconciliation over a range of days, as JSON and as CSV. */
export function reportRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database, now } = context
  app.route({
    ...operations.getMatchQuality,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'read')
      const range = readDayRange(request.query, now())
      return readMatchQuality(database, { tracker, range, at: now() })
    },
  })
  app.route({
    ...operations.downloadMatchQuality,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'read')
      const range = readDayRange(request.query, now())
      reply.headers(csvHeaders('match-quality', range))
      return reply.send(await formatMatchQualityCsv(database, { tracker, range }))
    },
  })
  app.route({
    ...operations.listReconciliations,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'read')
      const range = readDayRange(request.query, now())
      const after = readCursor(request.query, parseReportPosition)
      return readReconciliations(database, { tracker, range, after, at: now() })
    },
  })
  app.route({
    ...operations.downloadReconciliations,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'read')
      const range = readDayRange(request.query, now())
      reply.headers(csvHeaders('reconciliation', range))
      return reply.send(await formatReconciliationCsv(database, { tracker, range }))
    },
  })
}

function csvHeaders(name: string, { from, to }: DayRange) {
  return {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${name}-${from}-${to}.csv"`,
  }
}
