import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { AlertKind } from '@signalbox/contract/alerts.ts'
import { openDashboardWorkspace } from '../../../testing/fixtures/dashboard.ts'
import { deliverRound } from '../../../testing/fixtures/delivery-round.ts'
import { startMailServer } from '../../../testing/fixtures/mail-server.ts'
import {
  type NotificationsOptions,
  startNotificationsFixture,
} from '../../../testing/fixtures/notifications.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  restoreTokens,
  revokeToken,
  scriptFaults,
} from '../../../testing/fixtures/simulator.ts'
import { createWebhookClient } from '../../runtime/webhooks/client.ts'
import { createSmtpTransport } from '../../workspaces/users/mail/client.ts'
import { CircuitBreakers } from '../delivery/circuit-breaker.ts'
import { raiseAlert, resolveAlert } from './alert-store.ts'

/** The workspace of the service's tracker, with an owner, and what is sent to both. */
async function startWithTracker(
  test: TestContext,
  options: Partial<Pick<NotificationsOptions, 'postWebhook' | 'sendEmail'>> = {},
) {
  const service = await startTestService(test)
  const { owner } = await openDashboardWorkspace(service)
  const { workspaceId, trackerId, destinationId } = service.tracker
  const workspace = { workspaceId, workspaceName: 'Shop', adAccountId: 0, owner }
  const fixture = await startNotificationsFixture(test, { service, workspace, ...options })
  const { database, clock } = service
  const subject = (kind: AlertKind) => ({ trackerId, destinationId, kind })
  const raiseAlertOf = (kind: AlertKind = 'emq_low') =>
    raiseAlert(
      { database },
      { ...subject(kind), sentence: 'The score is 3.9.', details: {} },
      clock.now(),
    )
  const resolveAlertOf = (kind: AlertKind = 'emq_low') =>
    resolveAlert({ database }, subject(kind), clock.now())
  /** Both jobs, an hour later, so that no interval holds a digest back. */
  const passHour = async () => {
    clock.advance(3_600)
    await fixture.announce()
    await fixture.runJob()
  }
  return { ...fixture, raiseAlertOf, resolveAlertOf, passHour }
}

interface SentItem {
  type: string
  topic: string
  text: string
  url: string
  subject: object
}

function itemsOf(requests: readonly { body: string }[]): SentItem[] {
  return requests.flatMap(({ body }) => JSON.parse(body).data.notifications)
}

it('sends a rejected credential and its end by email and by webhook, once each', async test => {
  const fixture = await startWithTracker(test)
  const { service, workspace, emails, receiver, setWebhook, passHour } = fixture
  await setWebhook()
  const { accessToken } = await findPlatformTarget(service, service.tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await service.submit(samplePurchase())
  await service.deliver()
  await passHour()
  await passHour()
  assert.deepEqual(
    emails.map(({ to, subject }) => [to, subject]),
    [[workspace.owner.email, 'Alert: Test']],
  )
  const page = `/w/${workspace.workspaceId}/destinations?tracker=${service.tracker.trackerId}`
  const [item, ...others] = itemsOf(receiver.requests)
  assert.deepEqual(others, [])
  assert.equal(item?.type, 'alert.destination_inactive.raised')
  assert.equal(item?.topic, 'destinations')
  assert.equal(item?.url, service.url + page)
  assert.deepEqual(item?.subject, { type: 'destination', id: service.tracker.destinationId })
  assert.match(item?.text ?? '', /is inactive: the platform rejects the credential\. Its deliver/)
  assert.ok(emails[0]?.text.includes(`${item?.text}\n  ${service.url}${page}\n`))

  await restoreTokens(service.simulatorUrl)
  await service.deliver()
  await passHour()
  await passHour()
  assert.equal(emails.length, 2)
  assert.equal(emails[1]?.subject, 'Alert resolved: Test')
  const [, resolved] = itemsOf(receiver.requests)
  assert.equal(resolved?.type, 'alert.destination_inactive.resolved')
  assert.match(resolved?.text ?? '', /is active again\.$/)
  assert.equal(receiver.requests.length, 2)
})

it('sends a platform that cannot be reached after 15 minutes, and when it can again', async test => {
  const { service, emails, announce, runJob } = await startWithTracker(test)
  const circuits = new CircuitBreakers()
  const startedAt = service.clock.now().getTime()
  let orders = 0
  const tryUntil = async (count: number, minutesMax: number) => {
    for (let minute = 0; minute < minutesMax && emails.length < count; minute += 1) {
      orders += 1
      await service.submit(samplePurchase({ event_id: `order-${orders}` }))
      await deliverRound(service.delivery, { circuits })
      await announce()
      await runJob()
      service.clock.advance(60)
    }
  }
  await scriptFaults(service.simulatorUrl, [{ abort: 'before_response' }])
  await tryUntil(1, 60)
  assert.ok(service.clock.now().getTime() - startedAt > 15 * 60_000)
  assert.match(emails[0]?.text ?? '', /cannot be reached since 21 Nov 2026, 12:\d\d UTC\. Its/)
  await tryUntil(2, 60)
  assert.equal(emails.length, 1)
  await scriptFaults(service.simulatorUrl, [])
  await tryUntil(2, 60)
  assert.match(emails[1]?.text ?? '', /can be reached again\./)
})

it('sends each kind of alert under its topic, and the next occurrence again', async test => {
  const fixture = await startWithTracker(test)
  const { receiver, setWebhook, raiseAlertOf, resolveAlertOf, passHour } = fixture
  await setWebhook()
  for (const kind of ['emq_low', 'emq_fell', 'reconciliation_unexplained'] as const) {
    await raiseAlertOf(kind)
  }
  await passHour()
  await resolveAlertOf('emq_low')
  await passHour()
  await raiseAlertOf('emq_low')
  await passHour()
  // Between two runs one occurrence ends and the next one begins.
  await resolveAlertOf('emq_low')
  await raiseAlertOf('emq_low')
  await passHour()
  const sent = receiver.requests.map(request =>
    itemsOf([request]).map(({ type, topic }) => `${type} ${topic}`),
  )
  const raised = 'alert.emq_low.raised match_quality'
  const resolved = 'alert.emq_low.resolved match_quality'
  assert.deepEqual(sent, [
    [
      raised,
      'alert.emq_fell.raised match_quality',
      'alert.reconciliation_unexplained.raised reconciliation',
    ],
    [resolved],
    [raised],
    [resolved, raised],
  ])
})

it('sends one message when many workers announce at the same time', async test => {
  const fixture = await startWithTracker(test)
  const { service, emails, receiver, setWebhook, announce, runJob, raiseAlertOf } = fixture
  await setWebhook()
  await raiseAlertOf()
  await Promise.all(Array.from({ length: 6 }, announce))
  await Promise.all([runJob(), runJob(), runJob()])
  assert.equal(emails.length, 1)
  assert.equal(itemsOf(receiver.requests).length, 1)
  await fixture.resolveAlertOf()
  service.clock.advance(3_600)
  await Promise.all(Array.from({ length: 6 }, announce))
  await Promise.all([runJob(), runJob(), runJob()])
  assert.equal(emails.length, 2)
  assert.equal(itemsOf(receiver.requests).length, 2)
})

it('announces nothing of a transaction that is rolled back, and all of it later', async test => {
  const fixture = await startWithTracker(test)
  const { service, emails, announce, runJob, raiseAlertOf } = fixture
  await raiseAlertOf('emq_low')
  await raiseAlertOf('emq_fell')
  const { pool } = service.database
  await pool.query(`alter table notifications add constraint one check (type not like '%fell%')`)
  await assert.rejects(announce, /violates check constraint/)
  await runJob()
  assert.equal(emails.length, 0)
  await pool.query('alter table notifications drop constraint one')
  await announce()
  await runJob()
  assert.equal(emails.length, 1)
  assert.equal(emails[0]?.subject, '2 alerts: Test')
  assert.equal(emails[0]?.text.match(/The score is 3\.9\./g)?.length, 2)
})

it('sends alerts over SMTP', async test => {
  const server = await startMailServer(test)
  const transport = createSmtpTransport({ url: server.url, from: 'signalbox@shop.example' })
  const fixture = await startWithTracker(test, { sendEmail: transport })
  await fixture.raiseAlertOf()
  await fixture.announce()
  await fixture.runJob()
  const transcript = server.lines.join('\n')
  const { email } = fixture.workspace.owner
  assert.deepEqual(transcript.match(/^RCPT TO:.*$/gm), [`RCPT TO:<${email}>`])
  assert.match(transcript, /^Subject: Alert: Test$/m)
})

it('sends no alert to a webhook on a private address', async test => {
  const fixture = await startWithTracker(test, {
    postWebhook: createWebhookClient({
      resolveHost: async () => [{ address: '127.0.0.1', family: 4 }],
    }),
  })
  const { service, workspace, receiver, setWebhook, announce, runJob, raiseAlertOf } = fixture
  await setWebhook()
  await raiseAlertOf()
  await announce()
  await runJob()
  assert.equal(receiver.connections(), 0)
  const { body } = await workspace.owner.client.call('GET', fixture.path)
  assert.equal(body.webhook.messages[0].problem, 'its address is not public')
  assert.ok(!service.logged().includes('path-secret'))
})

it('turns the name of a tracker into no link', async test => {
  const { service, emails, announce, runJob, raiseAlertOf } = await startWithTracker(test)
  await service.database.pool.query('update trackers set name = $1', [
    'visit https://evil.example\r\nBcc: a@b.example',
  ])
  await raiseAlertOf()
  await announce()
  await runJob()
  assert.doesNotMatch(emails[0]?.text ?? '', /evil\.example|a@b|^Bcc/m)
})
