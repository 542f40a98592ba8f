import { replayDeliveries, setDestinationTestMode } from '@signalbox/contract/operations.ts'
import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { destinationView, isTestModeOn } from './destination-view.ts'
import { replayDeliveries as replay } from './replay-deliveries.ts'
import { setTestMode } from './set-test-mode.ts'

export interface DeliveryRoutes {
  database: Database
  audit: AuditTrail
  now: () => Date
  testModeSeconds: number
  /** Test mode of one of the tracker's destinations was switched. */
  onTestModeSwitched: (trackerId: string) => void
  /** Deliveries became due. */
  onQueued: () => void
}

export function deliveryRoutes(app: ServiceApp, context: DeliveryRoutes): void {
  const { now, testModeSeconds, onTestModeSwitched, onQueued } = context

  app.route({
    ...setDestinationTestMode,
    async handler({ tracker, params, body }, reply) {
      const at = now()
      const destinationId = params.destination
      const request = { tracker, destinationId, body, at, testModeSeconds }
      const destination = await setTestMode(context, request)
      const { trackerId, workspaceId } = tracker
      onTestModeSwitched(trackerId)
      return reply.code(200).send({
        destination: destinationView(destination, { workspaceId, at }),
        test_mode: isTestModeOn(destination, at),
      })
    },
  })

  app.route({
    ...replayDeliveries,
    async handler({ tracker, body }, reply) {
      const result = await replay(context, { tracker, body, at: now() })
      if (result.queued > 0) onQueued()
      return reply.code(200).send(result)
    },
  })
}
