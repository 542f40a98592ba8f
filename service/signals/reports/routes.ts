import { getEmqReport, getReconciliationReport } from '@signalbox/contract/report-operations.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readReconciliation, readSnapshots } from './read-reports.ts'

export interface ReportContext {
  /** Reads go to the node of the tracker, so that they need no other one. */
  nodes: StoreNodes
  now: () => Date
}

export function trackerReportRoutes(app: ServiceApp, { nodes, now }: ReportContext): void {
  app.route({
    ...getReconciliationReport,
    async handler({ tracker, query }, reply) {
      const node = await nodes.findNode(tracker.trackerId)
      return reply.code(200).send(await readReconciliation(node, { tracker, query, at: now() }))
    },
  })

  app.route({
    ...getEmqReport,
    async handler({ tracker }, reply) {
      const node = await nodes.findNode(tracker.trackerId)
      return reply.code(200).send(await readSnapshots(node, tracker))
    },
  })
}
