import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { submitPurchases } from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { deliverDueBatch } from './deliver-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'

/** A request waits ten seconds for its answer, and settling it needs a moment. */
const REQUEST_SECONDS = 12

async function serviceWithWaiting(test: TestContext, count: number): Promise<TestService> {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, count)
  return service
}

/** Delivers one batch of the first tracker. */
async function deliverOnce({ delivery, tracker }: TestService, changes: Partial<DeliveryContext>) {
  const { trackerId, destinationId } = tracker
  const queue = { trackerId, destinationId, platform: 'meta', isProbe: false }
  return deliverDueBatch({ ...delivery, ...changes }, queue, () => {})
}

async function storedDeliveries({ database }: TestService) {
  const { rows } = await database.pool.query(
    `select status, status_reason, attempt_count, leased_until, first_sent_at
     from all_deliveries order by id`,
  )
  return rows
}

const HANDED_BACK = {
  status: 'queued',
  status_reason: 'handed_back',
  attempt_count: 0,
  leased_until: null,
  first_sent_at: null,
}

it('hands back the batch when the lease could end before the answer', async test => {
  const service = await serviceWithWaiting(test, 2)
  const run = await deliverOnce(service, { leaseSeconds: REQUEST_SECONDS })
  assert.equal(run.claimedCount, 2)
  assert.deepEqual(run.health, { kind: 'untried' })
  const { requests } = await readSimulatorSummary(service.simulatorUrl)
  assert.equal(requests, 0)
  assert.deepEqual(await storedDeliveries(service), [HANDED_BACK, HANDED_BACK])
})

it('sends under a lease that outlasts the answer', async test => {
  const service = await serviceWithWaiting(test, 2)
  await deliverOnce(service, { leaseSeconds: REQUEST_SECONDS + 30 })
  const { requests, receipts } = await readSimulatorSummary(service.simulatorUrl)
  assert.deepEqual({ requests, receipts }, { requests: 1, receipts: 2 })
})

it('starts no further request of a halved batch when the lease is too short', async test => {
  const service = await serviceWithWaiting(test, 4)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 100 } }])
  const slowSeconds = 1.5
  const platforms = service.delivery.platforms.map(platform => ({
    ...platform,
    send: async (...request) => {
      await delay(slowSeconds * 1_000)
      return platform.send(...request)
    },
  }))
  // Time for one such request, and not for the next.
  const leaseSeconds = REQUEST_SECONDS + slowSeconds / 2
  await deliverOnce(service, { platforms, leaseSeconds })
  const { requests } = await readSimulatorSummary(service.simulatorUrl)
  assert.equal(requests, 1)
  assert.deepEqual(await storedDeliveries(service), Array(4).fill(HANDED_BACK))
})
