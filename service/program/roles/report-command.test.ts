import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import { startJobWorker } from '../../runtime/jobs/worker.ts'
import { readSettings } from '../../runtime/settings/read-settings.ts'
import { createWebhookClient } from '../../runtime/webhooks/client.ts'
import { PLATFORM_SETTINGS } from '../../signals/platforms/plug-ins.ts'
import { buildJobs } from './start-jobs.ts'

const DAY = '2026-11-21'

/** A service that sent one purchase, and the command as an operator types it. */
async function startReporting(test: TestContext) {
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
        settings: readSettings(environment, PLATFORM_SETTINGS),
        database: service.database,
        credentialKeys: service.delivery.credentialKeys,
        delivery: service.delivery,
        onAlert: () => {},
        auditKeys: deriveAuditKeys(service.delivery.credentialKeys),
        audit: createTestAuditTrail(service),
        onWorkspaceAlert: () => {},
        onTamperedLog: () => {},
        onVerifiedLogs: () => {},
        onCheckpointError: () => {},
        notifications: {
          now: service.clock.now,
          publicOrigin: service.url,
          sendEmail: async () => {},
          postWebhook: createWebhookClient(),
          onFailure: () => {},
        },
      }),
      now: service.clock.now,
      concurrency: 1,
      onError: assert.ifError,
      onDone: () => {},
    })
  const report = async (...options: string[]) => {
    const worker = startJobs()
    const result = await runCommand(['report', ...options], { environment, now: service.clock.now })
    await worker.stop()
    return result
  }
  /** The output of a command that succeeds. */
  const print = async (...options: string[]) => {
    const { code, stdout, stderr } = await report(...options)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return stdout
  }
  return { service, report, print }
}

it('explains when the report will be made while there is none', async test => {
  const { service, print } = await startReporting(test)
  assert.equal(
    await print('--date', DAY),
    '2026-11-21 is not over: its report is made at 2026-11-22 06:00 UTC.\n',
  )
  service.clock.advance(43_200)
  assert.match(
    await print('--date', DAY),
    /is made at 2026-11-22 06:00 UTC; --refresh makes it now/,
  )
  assert.match(await print('--date', '2026-11-20'), /makes it within the hour/)
  assert.match(await print('--date', '2026-11-10'), /keeps counts for 7 days only/)
})

it('makes the report immediately with --refresh, and shows it from then on', async test => {
  const { service, print } = await startReporting(test)
  service.clock.advance(43_200)
  const made = await print('--date', DAY, '--refresh')
  assert.match(made, /^Reconciliation of 2026-11-21 \(UTC\)\n/)
  assert.match(made, / {2}Status +matched: /)
  assert.match(made, /\n {2}Purchase +1 +1 +0\n/)
  assert.equal(await print('--date', DAY), made)
})

it('shows all trackers, or the one that is named by its ID or its workspace', async test => {
  const { service, report, print } = await startReporting(test)
  const other = await service.newTracker()
  service.clock.advance(43_200)
  const all = await print('--date', DAY, '--refresh')
  assert.equal(all.match(/^Reconciliation/gm)?.length, 2)
  const one = await print('--date', DAY, '--tracker', other.trackerId)
  assert.match(one, new RegExp(`Tracker +${other.trackerId}`))
  assert.equal(one.match(/^Reconciliation/gm)?.length, 1)
  const workspace = String(service.tracker.workspaceId)
  const own = await print('--date', DAY, '--tracker', workspace)
  assert.match(own, new RegExp(`Tracker +${service.tracker.trackerId}`))
  const { stderr } = await report('--date', DAY, '--tracker', '999')
  assert.equal(stderr, 'There is no workspace 999 with a tracker here.\n')
})

it('shows the previous report, and why the refresh failed', async test => {
  const { service, print } = await startReporting(test)
  service.clock.advance(43_200)
  const made = await print('--date', DAY, '--refresh')
  const respond = { status: 400, code: 190, message: 'Session has expired' }
  await scriptFaults(service.simulatorUrl, [{ edge: 'stats', respond }])
  const again = await print('--date', DAY, '--refresh')
  assert.ok(again.startsWith(made))
  assert.match(
    again.slice(made.length),
    /^The refresh at 2026-11-22 00:00 UTC failed\. .*refuses the access token/,
  )
})

it('refuses to make the report of a day that is not over', async test => {
  const { report } = await startReporting(test)
  const { code, stderr } = await report('--date', DAY, '--refresh')
  assert.equal(code, 1)
  assert.match(stderr, /^2026-11-21 is not over/)
})
