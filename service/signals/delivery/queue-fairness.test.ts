// Full run only: fills queues with 20,000 deliveries.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type StoredDestination,
  storeDestinations,
  storeQueuedDeliveries,
} from '../../../testing/fixtures/deliveries.ts'
import {
  countStatuses,
  startTestWorker,
  waitForStatus,
} from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  datasetOf,
  readSimulatorSummary,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { createSimulatorPlatforms, type PlatformRegistry } from '../platforms/registry.ts'

/** For as long as any test lasts: a platform that takes a request and never answers. */
const FOREVER_MILLISECONDS = 600_000

/** The simulator, waited for without the limits of the worker under test. */
function patientPlatforms({ simulatorUrl }: TestService): PlatformRegistry {
  const timeoutMilliseconds = FOREVER_MILLISECONDS
  return createSimulatorPlatforms({
    simulatorUrl,
    timeoutMilliseconds,
    now: () => new Date(),
  })
}

/** How many requests to some datasets were under way at once, at most. */
function watched(platforms: PlatformRegistry, queues: readonly StoredDestination[]) {
  const datasets = new Set(queues.map(({ datasetId }) => datasetId))
  const requests = { now: 0, most: 0 }
  const watching = platforms.map(platform => ({
    ...platform,
    send: async (connection, events) => {
      if (!datasets.has(datasetOf(connection))) return platform.send(connection, events)
      requests.now += 1
      requests.most = Math.max(requests.most, requests.now)
      return platform.send(connection, events).finally(() => {
        requests.now -= 1
      })
    },
  }))
  return { platforms: watching, requests }
}

async function acceptedOf(service: TestService, queues: readonly StoredDestination[]) {
  const { rows } = await service.database.pool.query(
    `select count(*) from all_deliveries
     where status = 'accepted' and destination_id = any($1::uuid[])`,
    [queues.map(({ destinationId }) => destinationId)],
  )
  return rows[0].count as number
}

it('serves 998 queues while one has 20,000 rows and one platform never answers', async test => {
  const service = await startTestService(test, { batchMax: 10 })
  const { database, delivery } = service
  const queues = await storeDestinations(database, delivery.credentialKeys, 1_000)
  const [big, dead, ...others] = queues as [
    StoredDestination,
    StoredDestination,
    ...StoredDestination[],
  ]
  await storeQueuedDeliveries(database, [big], 20_000)
  await storeQueuedDeliveries(database, [dead], 100)
  await storeQueuedDeliveries(database, others, 1)
  const hang = { match: { dataset: dead.datasetId }, delay_ms: FOREVER_MILLISECONDS }
  await scriptFaults(service.simulatorUrl, [hang])

  const platforms = patientPlatforms(service)
  startTestWorker(test, service, { context: { platforms } })
  await waitUntil('the others are served', async () => (await acceptedOf(service, others)) === 998)
  const ofBig = await countStatuses(service, big.trackerId)
  assert.ok((ofBig.accepted ?? 0) > 0, 'the big queue has its turn as well')
  assert.ok((ofBig.queued ?? 0) > 5_000, `${ofBig.queued} of 20,000 still wait`)
  assert.deepEqual(await countStatuses(service, dead.trackerId), { queued: 80, sent: 20 })
})

it('limits failed destinations to a quarter of its requests', async test => {
  const service = await startTestService(test, { batchMax: 1 })
  const { database, delivery } = service
  const queues = await storeDestinations(database, delivery.credentialKeys, 21)
  const [healthy, ...dead] = queues as [StoredDestination, ...StoredDestination[]]
  await storeQueuedDeliveries(database, dead, 2)
  const refusal = { respond: { status: 503, code: 2, message: 'Service temporarily unavailable' } }
  await scriptFaults(service.simulatorUrl, [refusal])
  const { platforms, requests } = watched(patientPlatforms(service), dead)
  const limits = { requestsMax: 8, pollSeconds: 0.05 }
  const worker = startTestWorker(test, service, { limits, context: { platforms } })
  await waitUntil('each of them has failed', async () => {
    const { queued = 0, retrying = 0 } = await countStatuses(service)
    return queued + retrying === 40 && retrying >= 20
  })

  requests.most = 0
  const hang = dead.map(({ datasetId }) => ({
    match: { dataset: datasetId },
    delay_ms: FOREVER_MILLISECONDS,
  }))
  await scriptFaults(service.simulatorUrl, hang)
  service.clock.advance(3_600)
  await waitUntil('those that it tries again hang', () => requests.now >= 2)
  await storeQueuedDeliveries(database, [healthy], 60)
  await waitForStatus(service, 'accepted', { count: 60, trackerId: healthy.trackerId })
  assert.deepEqual(requests, { now: 2, most: 2 })
  assert.equal(worker.requestsInFlight() >= 2, true)
  assert.deepEqual(worker.errors, [])
  const { unique_events } = await readSimulatorSummary(service.simulatorUrl, healthy.datasetId)
  assert.equal(unique_events, 60)
})
