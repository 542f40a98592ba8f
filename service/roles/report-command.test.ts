import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { deriveAuditKeys } from '../audit/signed-head.ts'
import { createLogger } from '../http/logger.ts'
import { startJobWorker } from '../jobs/worker.ts'
import { readSettings } from '../settings/read-settings.ts'
import { buildJobs } from './job-registry.ts'
import { runReport } from './report-command.ts'
import { StartError } from './role.ts'

const DAY = '2026-11-21'

/** A service that sent one purchase, and the command as its operator types it. */
async function place(test: TestContext) {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  await service.deliver()
  const environment = {
    DATABASE_URL: service.connectionString,
  }
  const startJobs = () =>
    startJobWorker({
      database: service.database,
      jobs: buildJobs({
        settings: readSettings(environment),
        delivery: service.delivery,
        preparePartitions: async () => {},
        onAlert: () => {},
        auditKeys: deriveAuditKeys(service.delivery.credentialKeys),
        onBrokenLog: () => {},
        onVerifiedLogs: () => {},
        onForgottenHeads: () => {},
      }),
      now: service.clock.now,
      concurrency: 1,
      onError: assert.ifError,
      onDone: () => {},
    })
  const report = async (argumentList: string[]) => {
    const said: string[] = []
    const context = {
      settings: readSettings(environment),
      logger: createLogger('debug', { write: () => {} }),
      now: service.clock.now,
      printStatus: assert.fail,
      printOutput: (text: string) => void said.push(text),
      onFatal: () => {},
    }
    const worker = startJobs()
    await runReport(context, argumentList).finally(worker.stop)
    return said.join('')
  }
  return { service, report }
}

it('says when the report will be made while there is none', async test => {
  const { service, report } = await place(test)
  const says = async (day: string) => report(['--date', day])
  assert.equal(
    await says(DAY),
    '2026-11-21 has not ended: its report is made at 2026-11-22 06:00 UTC.\n',
  )
  service.clock.advance(43_200)
  assert.match(await says(DAY), /is made at 2026-11-22 06:00 UTC; --refresh makes it now/)
  assert.match(await says('2026-11-20'), /is made within the hour/)
  assert.match(await says('2026-11-10'), /the last 7 days only/)
})

it('makes it at once when asked to, and shows it from then on', async test => {
  const { service, report } = await place(test)
  service.clock.advance(43_200)
  const made = await report(['--date', DAY, '--refresh'])
  assert.match(made, /^Reconciliation of 2026-11-21 \(UTC\)\n/)
  assert.match(made, / {2}Status +matched: /)
  assert.match(made, /\n {2}Purchase +1 +1 +0\n/)
  assert.equal(await report(['--date', DAY]), made)
})

it('shows every tracker, or the one that is named', async test => {
  const { service, report } = await place(test)
  const other = await service.newTracker()
  service.clock.advance(43_200)
  const all = await report(['--date', DAY, '--refresh'])
  assert.equal(all.match(/^Reconciliation/gm)?.length, 2)
  const one = await report(['--date', DAY, '--tracker', other.trackerId])
  assert.match(one, new RegExp(`Tracker +${other.trackerId}`))
  assert.equal(one.match(/^Reconciliation/gm)?.length, 1)
})

it('shows the former report, and why there is no new one', async test => {
  const { service, report } = await place(test)
  service.clock.advance(43_200)
  const made = await report(['--date', DAY, '--refresh'])
  const respond = { status: 400, code: 190, message: 'Session has expired' }
  await scriptFaults(service.simulatorUrl, [{ edge: 'stats', respond }])
  const again = await report(['--date', DAY, '--refresh'])
  assert.ok(again.startsWith(made))
  assert.match(
    again.slice(made.length),
    /^At 2026-11-22 00:00 UTC it could not be made again\. .*refuses the access token/,
  )
})

it('refuses to make the report of a day that has not ended', async test => {
  const { report } = await place(test)
  await assert.rejects(
    report(['--date', DAY, '--refresh']),
    error => error instanceof StartError && /^2026-11-21 has not ended/.test(error.message),
  )
})
