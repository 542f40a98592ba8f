import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  countStatuses,
  startTestWorker,
  submitPurchases,
  waitForStatus,
} from '../../../testing/fixtures/delivery-worker.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  datasetOf,
  readSimulatorSummary,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { DeliveryContext } from './delivery-context.ts'

/** The platform itself, with an eye on how many requests are under way. */
function counted({ platforms }: DeliveryContext) {
  const queues = new Map<string, number>()
  const most = { all: 0, queue: 0 }
  const counting = platforms.map(platform => ({
    ...platform,
    send: async (connection, events) => {
      const dataset = datasetOf(connection)
      queues.set(dataset, (queues.get(dataset) ?? 0) + 1)
      most.queue = Math.max(most.queue, ...queues.values())
      most.all = Math.max(
        most.all,
        [...queues.values()].reduce((sum, count) => sum + count, 0),
      )
      try {
        return await platform.send(connection, events)
      } finally {
        queues.set(dataset, (queues.get(dataset) ?? 1) - 1)
      }
    },
  }))
  return { platforms: counting, most }
}

it('drains many queues within its limits and sends nothing twice', async test => {
  const service = await startTestService(test, { batchMax: 2 })
  const trackers = [service.tracker]
  for (let number = 1; number < 12; number += 1) trackers.push(await service.newTracker())
  for (const tracker of trackers) await submitPurchases(service, tracker, 5)
  await scriptFaults(service.simulatorUrl, [{ delay_ms: 30 }])

  const { platforms, most } = counted(service.delivery)
  const limits = { requestsMax: 3, destinationRequestsMax: 2 }
  const worker = startTestWorker(test, service, { limits, context: { platforms } })
  await waitForStatus(service, 'accepted', { count: 60 })
  await worker.stop()
  assert.deepEqual(worker.errors, [])
  assert.deepEqual(await countStatuses(service), { accepted: 60 })
  const { receipts, deduplicated } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([receipts, deduplicated], [60, 0])
  assert.ok(most.all <= 3, `${most.all} requests at once`)
  assert.ok(most.queue <= 2, `${most.queue} requests at once to one queue`)
})

it('shares the work with another worker and sends no event twice', async test => {
  const service = await startTestService(test, { batchMax: 3 })
  const other = await service.newTracker()
  await submitPurchases(service, service.tracker, 40)
  await submitPurchases(service, other, 40)
  const workers = [startTestWorker(test, service), startTestWorker(test, service)]
  await waitForStatus(service, 'accepted', { count: 80 })
  for (const worker of workers) await worker.stop()
  const { receipts, deduplicated } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([receipts, deduplicated], [80, 0])
})

it('sleeps until it is woken', async test => {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, 1)
  const { pool } = service.database
  await pool.query(
    `update delivery_queue set next_attempt_at = next_attempt_at + interval '1 minute'`,
  )
  const looked = Promise.withResolvers<void>()
  const worker = startTestWorker(test, service, { onPoll: async () => looked.resolve() })
  await looked.promise
  // By then it has read the clock for this poll; later due times wait for the next poll.
  await new Promise(setImmediate)
  service.clock.advance(60)
  assert.deepEqual(await countStatuses(service), { queued: 1 })
  worker.wake()
  await waitForStatus(service, 'accepted', { count: 1 })
})

it('sends events that arrive in quick succession in a few requests', async test => {
  const service = await startTestService(test)
  const worker = startTestWorker(test, service)
  const startedAt = performance.now()
  for (let order = 1; order <= 40; order += 1) {
    const body = samplePurchase({ event_id: `quick-${order}` })
    await service.request('POST', '/api/v1/events', { secret: service.tracker.trackerSecret, body })
    worker.wake()
  }
  await waitForStatus(service, 'accepted', { count: 40 })
  const seconds = (performance.now() - startedAt) / 1_000
  const { rows } = await service.database.pool.query(
    'select count(*) as requests from send_attempts',
  )
  // One immediately, and one after each tenth of a second.
  assert.ok(rows[0].requests <= 2 + seconds * 10, `${rows[0].requests} requests in ${seconds} s`)
})

it('polls when it is not woken', async test => {
  const service = await startTestService(test)
  const looked = Promise.withResolvers<void>()
  const onPoll = async () => looked.resolve()
  startTestWorker(test, service, { onPoll, limits: { pollSeconds: 0.05 } })
  await looked.promise
  await submitPurchases(service, service.tracker, 1)
  await waitForStatus(service, 'accepted', { count: 1 })
})

it('delivers test events right after the live ones, without waiting for a poll', async test => {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, 4)
  const { pool } = service.database
  await pool.query(`update destinations set test_event_code = 'TEST12345'`)
  await pool.query('update delivery_queue set is_test = id % 2 = 0')
  startTestWorker(test, service, { limits: { destinationRequestsMax: 1 } })
  await waitForStatus(service, 'accepted', { count: 4 })
  const { receipts, test_receipts } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual([receipts, test_receipts], [2, 2])
})

it('settles the requests in flight before it stops, and claims nothing new', async test => {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, 3)
  await scriptFaults(service.simulatorUrl, [{ delay_ms: 500 }])
  const worker = startTestWorker(test, service)
  await waitUntil('the platform has the events', async () => {
    const { receipts } = await readSimulatorSummary(service.simulatorUrl)
    return receipts === 3
  })
  await worker.stop()
  assert.deepEqual(await countStatuses(service), { accepted: 3 })

  const other = await service.newTracker()
  await submitPurchases(service, other, 1)
  worker.wake()
  assert.deepEqual(await countStatuses(service, other.trackerId), { queued: 1 })
})

it('hands back the rest of a halved batch when it stops', async test => {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, 8)
  const respond = { status: 400, code: 100, subcode: 2_804_048 }
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond }, { delay_ms: 500 }])
  const worker = startTestWorker(test, service)
  await waitUntil('the first half is under way', async () => {
    const { receipts } = await readSimulatorSummary(service.simulatorUrl)
    return receipts === 4
  })
  await worker.stop()
  assert.deepEqual(await countStatuses(service), { accepted: 4, queued: 4 })
  const { rows } = await service.database.pool.query(
    `select distinct status_reason, attempt_count from all_deliveries where status = 'queued'`,
  )
  assert.deepEqual(rows, [{ status_reason: 'handed_back', attempt_count: 0 }])
})

it('stops immediately when it has nothing to do', async test => {
  const service = await startTestService(test)
  const worker = startTestWorker(test, service)
  await worker.stop()
  await worker.stop()
  assert.deepEqual(worker.errors, [])
})
