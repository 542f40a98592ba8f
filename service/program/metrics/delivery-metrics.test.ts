import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  startTestWorker,
  submitPurchases,
  waitForStatus,
} from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  revokeToken,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import {
  registerDeliveryMetrics,
  registerDestinationMetrics,
  registerWorkerMetrics,
  withPlatformMetrics,
} from './delivery-metrics.ts'
import { createMetricsRegistry, type MetricsRegistry, renderMetrics } from './metrics-registry.ts'

/** The series of ours that are not zero, without the buckets and without what a clock decides. */
async function shown(registry: MetricsRegistry): Promise<string[]> {
  const { text } = await renderMetrics(registry)
  return text
    .split('\n')
    .filter(line => line.startsWith('signalbox_') && !line.endsWith(' 0'))
    .filter(line => !/_bucket|duration_seconds_sum|look_duration/.test(line))
}

it('counts requests, events and settlements of the worker', async test => {
  const service = await startTestService(test, { batchMax: 10 })
  const registry = createMetricsRegistry()
  const platforms = withPlatformMetrics(registry, service.delivery.platforms)
  const { onSettled, onClaimed } = registerDeliveryMetrics(registry)
  await submitPurchases(service, service.tracker, 12)
  // The last one is claimed after the others, and too old by then.
  await service.database.pool.query(
    `update delivery_queue set next_attempt_at = next_attempt_at + interval '1 second' where id = 12`,
  )
  await service.database.pool.query(
    `update events set event_time = event_time - interval '8 days'
     where event_id = (select event_id from all_deliveries where id = 12)`,
  )
  service.clock.advance(1)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 503, code: 2 } }])
  const limits = { destinationRequestsMax: 1, pollSeconds: 0.05 }
  const worker = startTestWorker(test, service, {
    limits,
    context: { platforms, onSettled, onClaimed },
  })
  await waitForStatus(service, 'retrying', { count: 10 })
  await waitForStatus(service, 'accepted', { count: 1 })
  service.clock.advance(3_600)
  await waitForStatus(service, 'accepted', { count: 11 })
  await worker.stop()
  assert.deepEqual(await shown(registry), [
    'signalbox_platform_requests_total{outcome="accepted"} 2',
    'signalbox_platform_requests_total{outcome="retry"} 1',
    'signalbox_platform_request_events_total{outcome="accepted"} 11',
    'signalbox_platform_request_events_total{outcome="retry"} 10',
    'signalbox_platform_request_duration_seconds_count 3',
    'signalbox_deliveries_settled_total{status="accepted"} 11',
    'signalbox_deliveries_settled_total{status="retrying"} 10',
    'signalbox_deliveries_settled_total{status="expired"} 1',
    'signalbox_delivery_settle_duration_seconds_count 4',
    'signalbox_delivery_claim_duration_seconds_count 3',
  ])
})

it('counts a paused destination once, and the deliveries handed back', async test => {
  const service = await startTestService(test)
  const registry = createMetricsRegistry()
  const onMoved = registerDestinationMetrics(registry)
  const { onSettled } = registerDeliveryMetrics(registry)
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await submitPurchases(service, service.tracker, 3)
  const onDestinationMoved = ({ status }: { status: 'active' | 'inactive' }) => onMoved(status)
  const worker = startTestWorker(test, service, {
    context: { onSettled, onDestinationStatusChanged: onDestinationMoved },
  })
  await waitUntil('the destination is paused', async () => (await shown(registry)).length >= 2)
  await worker.stop()
  assert.deepEqual(await shown(registry), [
    'signalbox_destinations_moved_total{status="inactive"} 1',
    'signalbox_deliveries_settled_total{status="queued"} 3',
    'signalbox_delivery_settle_duration_seconds_count 1',
  ])
})

it('shows the circuits of the worker and its requests in flight', async test => {
  const service = await startTestService(test, { batchMax: 1 })
  const registry = createMetricsRegistry()
  await submitPurchases(service, service.tracker, 2)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 4 } }])
  const worker = startTestWorker(test, service)
  registerWorkerMetrics(registry, worker, 8)
  await waitUntil('the queue is throttled', async () => {
    const { throttled } = worker.countCircuits()
    return throttled === 1 && worker.requestsInFlight() === 0
  })
  assert.deepEqual(await shown(registry), [
    'signalbox_delivery_requests_max 8',
    'signalbox_delivery_destinations{circuit="throttled"} 1',
  ])
})
