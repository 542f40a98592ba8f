import { getEmqReport, getReconciliationReport } from '@signalbox/contract/report-operations.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readReconciliation, readSnapshots } from './read-reports.ts'

export interface ReportRoutes {
  database: Database
  now: () => Date
}

export function reportRoutes(app: ServiceApp, { database, now }: ReportRoutes): void {
  app.route({
    ...getReconciliationReport,
    async handler({ tracker, query }, reply) {
      return reply.code(200).send(await readReconciliation(database, { tracker, query, at: now() }))
    },
  })

  app.route({
    ...getEmqReport,
    async handler({ tracker }, reply) {
      return reply.code(200).send(await readSnapshots(database, tracker))
    },
  })
}
