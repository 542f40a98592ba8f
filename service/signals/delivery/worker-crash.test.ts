import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { expireLeases } from '../../../testing/fixtures/deliveries.ts'
import { countStatuses, submitPurchases } from '../../../testing/fixtures/delivery-worker.ts'
import { createInstallation, type TestProgram } from '../../../testing/fixtures/program.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const LEASE_SECONDS = 15
const NEVER_MILLISECONDS = 600_000

/** On the time of the machine, because a real process reads it. */
function startedNow(test: TestContext): Promise<TestService> {
  return startTestService(test, { startAt: new Date(Date.now() - 1_000).toISOString() })
}

/** A delivery worker as a process of its own, on the same store and platform. */
async function workerProcess(test: TestContext, service: TestService): Promise<TestProgram> {
  const program = createInstallation(test).start({
    role: 'deliver',
    environment: {
      DATABASE_URL: service.connectionString,
      SIGNALBOX_PLATFORM_URL: service.simulatorUrl,
      SIGNALBOX_CREDENTIAL_KEY: service.delivery.credentialKeys.current.toString('hex'),
      SIGNALBOX_DELIVERY_LEASE_SECONDS: String(LEASE_SECONDS),
      SIGNALBOX_DELIVERY_POLL_SECONDS: '1',
      SIGNALBOX_DELIVERY_DESTINATION_REQUESTS_MAX: '1',
    },
  })
  await program.waitForOutput(/Signalbox delivers to/)
  return program
}

/** The dead worker's lease ends, and another worker takes its rows up. */
async function takeUp(service: TestService): Promise<number> {
  await scriptFaults(service.simulatorUrl, [])
  await expireLeases(service.database)
  return service.deliver()
}

async function receivedOnce(service: TestService, count: number): Promise<void> {
  const { events } = await service.received('limit=10000')
  const receipts = events as unknown as { event_id: string; deduplicated: boolean }[]
  const first = receipts.filter(({ deduplicated }) => !deduplicated)
  assert.equal(first.length, count)
  assert.equal(new Set(first.map(({ event_id }) => event_id)).size, count)
}

it('delivers everything after a worker was killed while sending', async test => {
  const service = await startedNow(test)
  await submitPurchases(service, service.tracker, 20)
  await scriptFaults(service.simulatorUrl, [{ delay_ms: NEVER_MILLISECONDS }])
  const program = await workerProcess(test, service)
  await waitUntil('the platform has the events and gives no answer', async () => {
    const { receipts } = await readSimulatorSummary(service.simulatorUrl)
    return receipts === 20
  })
  await program.kill('SIGKILL')
  assert.deepEqual(await countStatuses(service), { sent: 20 })

  assert.equal(await takeUp(service), 20)
  assert.deepEqual(await countStatuses(service), { accepted: 20 })
  await receivedOnce(service, 20)
})

it('repeats no request that was answered before the worker was killed', async test => {
  const service = await startedNow(test)
  await submitPurchases(service, service.tracker, 8)
  const guilty = { event_id: `${service.tracker.trackerId}-8` }
  await scriptFaults(service.simulatorUrl, [
    { match: guilty, times: 1, respond: { status: 400, code: 100, subcode: 2_804_048 } },
    { match: guilty, delay_ms: NEVER_MILLISECONDS },
  ])
  const program = await workerProcess(test, service)
  await waitUntil('the second half is under way', async () => {
    const { receipts } = await readSimulatorSummary(service.simulatorUrl)
    return receipts === 8
  })
  await program.kill('SIGKILL')
  assert.deepEqual(await countStatuses(service), { accepted: 4, sent: 4 })

  assert.equal(await takeUp(service), 4)
  assert.deepEqual(await countStatuses(service), { accepted: 8 })
  await receivedOnce(service, 8)
})

it('leaves no request in flight when it is stopped', async test => {
  const service = await startedNow(test)
  await submitPurchases(service, service.tracker, 5)
  await scriptFaults(service.simulatorUrl, [{ delay_ms: 1_000 }])
  const program = await workerProcess(test, service)
  await waitUntil('the platform has the events', async () => {
    const { receipts } = await readSimulatorSummary(service.simulatorUrl)
    return receipts === 5
  })
  const { code } = await program.kill('SIGTERM')
  assert.equal(code, 0)
  assert.deepEqual(await countStatuses(service), { accepted: 5 })
})
