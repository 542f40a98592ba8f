import assert from 'node:assert/strict'
import { it } from 'node:test'
import { submitPurchases, waitForStatus } from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  readSimulatorSummary,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { createMetricsRegistry } from '../metrics/metrics-registry.ts'
import type { Store } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { startDelivery } from './start-delivery.ts'

const SETTINGS = {
  deliveryBatchMax: 1,
  deliveryLeaseSeconds: 60,
  deliveryRequestsMax: 2,
  deliveryRequestsPerDestinationMax: 1,
  deliveryPollSeconds: 0.1,
} as Settings

it('logs the destination once when its circuit opens, and once when it closes', async test => {
  const service = await startTestService(test)
  const { database, connectionString, delivery, tracker } = service
  const lines: Record<string, unknown>[] = []
  const context = {
    settings: SETTINGS,
    logger: createLogger('info', { write: line => void lines.push(JSON.parse(line)) }),
    now: service.clock.now,
  } as RoleContext
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 503, code: 2 } }])
  await submitPurchases(service, tracker, 10)
  const worker = await startDelivery(context, { database, connectionString } as Store, {
    platforms: delivery.platforms,
    credentialKeys: delivery.credentialKeys,
    onMoved: () => {},
    tracer: null,
    registry: createMetricsRegistry(),
  })
  test.after(() => worker.stop())
  await waitUntil('three requests have failed', async () => {
    const { requests } = await readSimulatorSummary(service.simulatorUrl)
    return requests >= 3
  })
  await scriptFaults(service.simulatorUrl, [])
  // The other three are due in a moment of a clock that stands still.
  await waitForStatus(service, 'accepted', { count: 7 })
  const { trackerId, destinationId } = tracker
  const told = lines.map(({ time, ...line }) => line)
  assert.deepEqual(told, [
    {
      level: 'warn',
      trackerId,
      destinationId,
      msg: 'a circuit is open: the platform cannot be reached',
    },
    {
      level: 'info',
      trackerId,
      destinationId,
      msg: 'a circuit is closed: the platform answers again',
    },
  ])
  const { accessToken } = await findPlatformTarget(service, tracker)
  assert.ok(!JSON.stringify(lines).includes(accessToken))
})
