import { replayDeliveries, setDestinationTestMode } from '@signalbox/contract/operations.ts'
import type { Database } from '../db/database.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { destinationView, isTestModeOn } from './destination-view.ts'
import { replayDeliveries as replay } from './replay-deliveries.ts'
import { setTestMode } from './set-test-mode.ts'

export interface DeliveryRoutes {
  database: Database
  now: () => Date
  testModeSeconds: number
  /** Test mode of one of the tracker's destinations was switched. */
  onTestModeSwitched: (trackerId: string) => void
  /** Deliveries became due. */
  onQueued: () => void
}

export function deliveryRoutes(app: ServiceApp, context: DeliveryRoutes): void {
  const { database, now, testModeSeconds, onTestModeSwitched, onQueued } = context

  app.route({
    ...setDestinationTestMode,
    async handler({ tracker: { trackerId, workspaceId }, params, body }, reply) {
      const at = now()
      const destinationId = params.destination
      const request = { trackerId, destinationId, body, at, testModeSeconds }
      const destination = await setTestMode(database, request)
      onTestModeSwitched(trackerId)
      return reply.code(200).send({
        destination: destinationView(destination, { workspaceId, at }),
        test_mode: isTestModeOn(destination, at),
      })
    },
  })

  app.route({
    ...replayDeliveries,
    async handler({ tracker: { trackerId }, body }, reply) {
      const result = await replay(database, { trackerId, body, at: now() })
      if (result.queued > 0) onQueued()
      return reply.code(200).send(result)
    },
  })
}
