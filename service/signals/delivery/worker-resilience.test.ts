import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { databaseUrl } from '../../../testing/fixtures/database.ts'
import { expireLeases } from '../../../testing/fixtures/deliveries.ts'
import {
  countStatuses,
  startTestWorker,
  submitPurchases,
  waitForStatus,
} from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  readSimulatorSummary,
  restoreTokens,
  revokeToken,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { findDestination } from './destination-store.ts'

async function asAdmin(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl('postgres') })
  await client.connect()
  await work(client).finally(() => client.end())
}

/** Ends every connection to the store and refuses new ones until the returned function runs. */
async function storeAway({ connectionString }: TestService): Promise<() => Promise<void>> {
  const name = new URL(connectionString).pathname.slice(1)
  await asAdmin(async client => {
    await client.query(`alter database ${name} allow_connections false`)
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
      [name],
    )
  })
  return () => asAdmin(client => client.query(`alter database ${name} allow_connections true`))
}

it('continues after the database was unavailable', async test => {
  const service = await startTestService(test, { batchMax: 5 })
  await submitPurchases(service, service.tracker, 20)
  const worker = startTestWorker(test, service, { limits: { pollSeconds: 0.1 } })
  const bringBack = await storeAway(service)
  await waitUntil('the worker has noticed', async () => worker.errors.length >= 2)
  await bringBack()
  await expireLeases(service.database)
  worker.wake()
  await waitForStatus(service, 'accepted', { count: 20 })
  const { unique_events } = await readSimulatorSummary(service.simulatorUrl)
  assert.equal(unique_events, 20)
})

it('delivers although onPoll fails', async test => {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, 1)
  const onPoll = () => Promise.reject(new Error('no partition for tomorrow'))
  const worker = startTestWorker(test, service, { onPoll })
  await waitForStatus(service, 'accepted', { count: 1 })
  assert.match(String(worker.errors[0]), /no partition for tomorrow/)
})

it('delays no destination because another platform does not answer', async test => {
  const service = await startTestService(test, { batchMax: 1 })
  const dead = await service.newTracker()
  const { datasetId } = await findPlatformTarget(service, dead)
  await scriptFaults(service.simulatorUrl, [{ match: { dataset: datasetId }, delay_ms: 600_000 }])
  await submitPurchases(service, dead, 5)
  await submitPurchases(service, service.tracker, 10)
  const limits = { requestsMax: 2, destinationRequestsMax: 1 }
  startTestWorker(test, service, { limits, context: { platforms: service.delivery.platforms } })
  const { trackerId } = service.tracker
  await waitForStatus(service, 'accepted', { count: 10, trackerId })
  const { accepted } = await countStatuses(service, dead.trackerId)
  assert.equal(accepted, undefined)
})

it('delays no healthy destination because of many throttled ones', async test => {
  const service = await startTestService(test, { batchMax: 1 })
  const { datasetId } = await findPlatformTarget(service, service.tracker)
  const throttled = []
  for (let number = 0; number < 10; number += 1) throttled.push(await service.newTracker())
  await scriptFaults(service.simulatorUrl, [
    { match: { dataset: datasetId }, delay_ms: 1 },
    { respond: { status: 400, code: 4, message: 'Application request limit reached' } },
  ])
  for (const tracker of throttled) await submitPurchases(service, tracker, 3)
  const limits = { requestsMax: 1, destinationRequestsMax: 1 }
  const worker = startTestWorker(test, service, { limits })
  await waitForStatus(service, 'retrying', { count: throttled.length })
  await submitPurchases(service, service.tracker, 3)
  worker.wake()
  await waitForStatus(service, 'accepted', { count: 3 })
  await worker.stop()
  assert.deepEqual(await countStatuses(service), { accepted: 3, queued: 20, retrying: 10 })
})

it('backs off from an unreachable platform and counts no attempt of waiting deliveries', async test => {
  const service = await startTestService(test, { batchMax: 1 })
  await submitPurchases(service, service.tracker, 20)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 503, code: 2 } }])
  const limits = { pollSeconds: 0.02, destinationRequestsMax: 2 }
  const worker = startTestWorker(test, service, { limits })
  await waitUntil('it has failed a few times', async () => {
    const { requests } = await readSimulatorSummary(service.simulatorUrl)
    return requests >= 3
  })
  await worker.stop()
  const { rows } = await service.database.pool.query(
    'select count(*) as untouched from all_deliveries where attempt_count = 0',
  )
  assert.ok(rows[0].untouched >= 10, `${rows[0].untouched} of 20 are untouched`)
})

it('resumes a paused destination with one probe and then drains its queue', async test => {
  const service = await startTestService(test, { batchMax: 10 })
  const { accessToken, datasetId } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await submitPurchases(service, service.tracker, 25)
  const worker = startTestWorker(test, service)
  const { trackerId, destinationId } = service.tracker
  await waitUntil('the destination is inactive', async () => {
    const destination = await findDestination(service.database, trackerId, destinationId)
    return destination?.status === 'inactive'
  })
  await waitForStatus(service, 'queued', { count: 25 })
  await restoreTokens(service.simulatorUrl)
  service.clock.advance(60)
  worker.wake()
  await waitForStatus(service, 'accepted', { count: 25 })
  const { receipts, deduplicated } = await readSimulatorSummary(service.simulatorUrl, datasetId)
  assert.deepEqual([receipts, deduplicated], [25, 0])
})
