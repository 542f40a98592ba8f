import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  type NotificationsFixture,
  startNotificationsFixture,
} from '../../../testing/fixtures/notifications.ts'
import { signWebhook } from '../../runtime/webhooks/client.ts'
import { setWorkspaceStatus } from '../users/workspace-store.ts'
import { deleteOldMessages } from './message-store.ts'

const HOUR_MINUTES = 60

async function startWithWebhook(test: Parameters<typeof startNotificationsFixture>[0]) {
  const fixture = await startNotificationsFixture(test)
  return { ...fixture, secret: await fixture.setWebhook() }
}

/** Runs the job as often as needed for so many minutes, at its schedule. */
async function pass({ service, runJob }: NotificationsFixture, minutes: number, step = 1) {
  for (let minute = 0; minute < minutes; minute += step) {
    service.clock.advance(step * 60)
    await runJob()
  }
}

it('posts a signed digest in the form of Standard Webhooks', async test => {
  const fixture = await startWithWebhook(test)
  const { service, workspace, receiver, secret, raise, runJob } = fixture
  await raise()
  await raise({ topic: 'results', type: 'action.verified', text: 'Made.' })
  await runJob()
  const [request, ...others] = receiver.requests
  assert.deepEqual(others, [])
  assert.ok(request)
  const { headers, body } = request
  const messageId = String(headers['webhook-id'])
  assert.match(messageId, /^msg_[0-9a-f-]{36}$/)
  const expected = signWebhook(
    { secret, previous: null },
    { messageId, at: service.clock.now(), body },
  )
  assert.equal(headers['webhook-signature'], expected['webhook-signature'])
  assert.equal(headers['webhook-timestamp'], expected['webhook-timestamp'])
  const { workspaceId } = workspace
  const url = `${service.url}/w/${workspaceId}/approvals/7`
  const common = { subject: { type: 'proposal', id: '7' }, url }
  const created_at = '2026-11-21T12:00:00.000Z'
  assert.deepEqual(JSON.parse(body), {
    type: 'notifications.digest',
    timestamp: created_at,
    data: {
      workspace_id: workspaceId,
      total: 2,
      notifications: [
        {
          ...common,
          type: 'approval.requested',
          topic: 'approvals',
          text: 'Budget robot proposes a change (proposal 7).',
          created_at,
        },
        { ...common, type: 'action.verified', topic: 'results', text: 'Made.', created_at },
      ],
    },
  })
})

it('posts plain text that Slack shows and that mentions no one', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, receiver, raise, runJob, setWebhook } = fixture
  await setWebhook('text')
  await raise({ text: '<!channel> & <https://evil.example|click> propose a change.' })
  await runJob()
  const url = `${service.url}/w/${workspace.workspaceId}/approvals/7`
  assert.deepEqual(JSON.parse(receiver.requests[0]?.body ?? ''), {
    text:
      'Signalbox: updates in Shop\n' +
      '• &lt;!channel&gt; &amp; &lt;https://evil.example|click&gt; propose a change. ' +
      url,
  })
})

it('repeats a failed request with the same id and body, honoring Retry-After', async test => {
  const fixture = await startWithWebhook(test)
  const { receiver, raise, runJob } = fixture
  receiver.answer(response => void response.writeHead(503, { 'retry-after': '600' }).end())
  await raise()
  await runJob()
  await pass(fixture, 9)
  assert.equal(receiver.requests.length, 1)
  receiver.answer(response => void response.writeHead(200).end())
  await pass(fixture, 1)
  const [first, second] = receiver.requests
  assert.equal(receiver.requests.length, 2)
  assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id'])
  assert.equal(second?.body, first?.body)
  assert.notEqual(second?.headers['webhook-timestamp'], first?.headers['webhook-timestamp'])
})

it('turns itself off after a day of failures, and tells the owners by email', async test => {
  const fixture = await startWithWebhook(test)
  const { service, workspace, receiver, emails, failures, raise, runJob, path } = fixture
  receiver.answer(response => void response.writeHead(500).end())
  await raise()
  await runJob()
  await pass(fixture, 18 * HOUR_MINUTES, 10)
  assert.equal(receiver.requests.length, 7)
  assert.deepEqual(failures, [
    { workspaceId: workspace.workspaceId, channel: 'webhook', code: 'http_500' },
  ])
  assert.match(emails.at(-1)?.text ?? '', /The webhook at hooks\.example:\d+ was turned off/)
  const [entry] = await readAuditEntries(
    service.database,
    workspace.workspaceId,
    'webhook.disabled',
  )
  assert.deepEqual(entry?.actor, { type: 'system', id: null })
  assert.equal(entry?.details.error, 'http_500')
  await raise()
  await pass(fixture, 30)
  assert.equal(receiver.requests.length, 7)
  const { client } = workspace.owner
  const { disabled } = (await client.call('GET', path)).body.webhook
  assert.equal(disabled.problem, 'it answered HTTP 500')
  receiver.answer(response => void response.writeHead(204).end())
  assert.equal((await client.call('POST', `${path}/webhook/activation`)).status, 204)
  await raise()
  await pass(fixture, 1)
  assert.equal(receiver.requests.length, 8)
})

it('stops at 410 Gone', async test => {
  const fixture = await startWithWebhook(test)
  const { receiver, failures, raise, runJob } = fixture
  receiver.answer(response => void response.writeHead(410).end())
  await raise()
  await runJob()
  await raise()
  await pass(fixture, 60)
  assert.equal(receiver.requests.length, 1)
  assert.equal(failures[0]?.code, 'http_410')
})

it('signs with both secrets for a day after a rotation', async test => {
  const fixture = await startWithWebhook(test)
  const { service, workspace, receiver, secret, raise, runJob, path } = fixture
  const { body: issued } = await workspace.owner.client.call('POST', `${path}/webhook/secret`)
  const rotated = issued.signing_secret
  assert.notEqual(rotated, secret)
  await raise()
  await runJob()
  service.clock.advance(86_400)
  await raise()
  await runJob()
  const keys = receiver.requests.map(({ headers, body }) => {
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000)
    const messageId = String(headers['webhook-id'])
    const sign = (key: string) =>
      signWebhook({ secret: key, previous: null }, { messageId, at, body })['webhook-signature']
    const names = new Map([
      [sign(secret), 'previous'],
      [sign(rotated), 'current'],
    ])
    return String(headers['webhook-signature'])
      .split(' ')
      .map(signature => names.get(signature))
  })
  assert.deepEqual(keys, [['current', 'previous'], ['current']])
})

it('sends each message once when two jobs run at the same time', async test => {
  const { receiver, emails, raise, runJob } = await startWithWebhook(test)
  await raise()
  await Promise.all([runJob(), runJob(), runJob()])
  assert.equal(receiver.requests.length, 1)
  assert.equal(emails.length, 1)
})

it('retries a message whose process died', async test => {
  const fixture = await startWithWebhook(test)
  const { service, receiver, raise, runJob } = fixture
  await raise()
  await runJob()
  // As a process leaves it that dies between its claim and its answer.
  await service.database.pool.query(
    `update notification_messages set status = 'pending', body = '{}', finished_at = null,
       next_attempt_at = created_at + interval '2 minutes' where channel = 'webhook'`,
  )
  await pass(fixture, 1)
  assert.equal(receiver.requests.length, 1)
  await pass(fixture, 1)
  assert.equal(receiver.requests.length, 2)
})

it('sends nothing for a disabled workspace, and continues when it is enabled', async test => {
  const fixture = await startWithWebhook(test)
  const { service, workspace, receiver, emails, raise, runJob } = fixture
  const { database } = service
  receiver.answer(response => void response.writeHead(500).end())
  await raise()
  await runJob()
  await setWorkspaceStatus(database, workspace.workspaceId, 'disabled')
  await raise()
  await pass(fixture, 30)
  assert.equal(receiver.requests.length, 1)
  assert.equal(emails.length, 1)
  receiver.answer(response => void response.writeHead(204).end())
  await setWorkspaceStatus(database, workspace.workspaceId, 'active')
  await pass(fixture, 30)
  assert.equal(receiver.requests.length, 3)
  assert.equal(emails.length, 2)
})

it('deletes messages after a month', async test => {
  const { service, raise, runJob } = await startWithWebhook(test)
  await raise()
  await runJob()
  const at = (days: number) => new Date(service.clock.now().getTime() + days * 86_400_000)
  assert.deepEqual(await deleteOldMessages(service.database, at(30)), { deleted: 0, more: false })
  assert.deepEqual(await deleteOldMessages(service.database, at(31)), { deleted: 2, more: false })
})
