import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  countStatuses,
  startTestWorker,
  submitPurchases,
  waitForStatus,
} from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { bringForwardRetries } from './destination-queue-store.ts'

it('sends delayed deliveries as soon as the platform is back, ahead of their schedule', async test => {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, 30)
  await scriptFaults(service.simulatorUrl, [{ abort: 'before_response' }])
  startTestWorker(test, service, { limits: { pollSeconds: 0.1 } })
  await waitForStatus(service, 'retrying', { count: 30 })
  // They are due in five seconds of a clock that stands still; new ones are due at once.
  await scriptFaults(service.simulatorUrl, [])
  await service.submit({
    event_id: 'after',
    event_name: 'Lead',
    consent_basis: 'consent',
    user_data: { em: 'jane@example.com' },
  })
  await waitForStatus(service, 'accepted', { count: 31 })
})

it('tries a recovering platform with a few events before whole batches', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ abort: 'before_response' }])
  await submitPurchases(service, service.tracker, 1)
  startTestWorker(test, service, { limits: { pollSeconds: 0.1 } })
  await waitForStatus(service, 'retrying', { count: 1 })
  const { pool } = service.database
  await submitMore(service, 40)
  await waitUntil('a trial has failed', async () => (await countStatuses(service)).retrying !== 1)
  await scriptFaults(service.simulatorUrl, [])
  await waitForStatus(service, 'accepted', { count: 41 })
  const { rows } = await pool.query(
    `select max(event_count) as most from send_attempts where outcome <> 'accepted'`,
  )
  assert.ok(rows[0].most <= 10, `a trial carried ${rows[0].most} events`)
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).deduplicated, 0)
})

async function submitMore(
  service: Awaited<ReturnType<typeof startTestService>>,
  count: number,
): Promise<void> {
  for (let order = 1; order <= count; order += 1) {
    await service.submit({
      event_id: `more-${order}`,
      event_name: 'Lead',
      consent_basis: 'consent',
      user_data: { em: 'jane@example.com' },
    })
  }
}

it('keeps the time of a retry that the platform asked for', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 503, code: 2 } }])
  await submitPurchases(service, service.tracker, 1)
  await service.deliver()
  const { trackerId, destinationId } = service.tracker
  const queue = { trackerId, destinationId, at: service.clock.now() }
  assert.equal(await bringForwardRetries(service.database, queue), 0)

  await scriptFaults(service.simulatorUrl, [{ times: 1, abort: 'before_response' }])
  service.clock.advance(5)
  await service.deliver()
  const later = { ...queue, at: service.clock.now() }
  assert.equal(await bringForwardRetries(service.database, later), 1)
  assert.equal(await service.deliver(), 1)
  assert.deepEqual(await countStatuses(service), { accepted: 1 })
})
