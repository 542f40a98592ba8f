import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { NOTIFICATION_OPERATIONS } from '@signalbox/contract/session/notification-operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { createTestWorkspace, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'
import { ALERT_TOPICS } from './notification.ts'
import { readNotificationSettings, resealWebhooks } from './settings-store.ts'

it('saves topics and the interval, with an audit entry', async test => {
  const { service, workspace, path } = await startNotificationsFixture(test)
  const { client, userId } = workspace.owner
  const before = (await client.call('GET', path)).body
  assert.ok(before.email_topics.includes('approvals'))
  const body = {
    email_topics: ['results'],
    webhook_topics: ['approvals', 'results'],
    digest_minutes: 60,
  }
  assert.equal((await client.call('PUT', `${path}/topics`, { body })).status, 204)
  const { own_topics: _, webhook: none, ...after } = (await client.call('GET', path)).body
  assert.deepEqual([after, none], [body, null])
  const settings = await readNotificationSettings(service.database, workspace.workspaceId)
  assert.deepEqual(settings, {
    mutedEmailTopics: ['approvals', ...ALERT_TOPICS],
    mutedWebhookTopics: [...ALERT_TOPICS],
    digestMinutes: 60,
    webhook: null,
  })
  const [entry] = await readAuditEntries(
    service.database,
    workspace.workspaceId,
    'notifications.changed',
  )
  assert.deepEqual(entry?.actor, { type: 'person', id: String(userId) })
  assert.deepEqual(entry?.details, {
    muted_email_topics: ['approvals', ...ALERT_TOPICS],
    muted_webhook_topics: [...ALERT_TOPICS],
    digest_minutes: 60,
  })
})

it('answers with the signing secret once, and with the URL never', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, receiver, path, setWebhook } = fixture
  const { client } = workspace.owner
  const secret = await setWebhook()
  const { host } = new URL(receiver.url)
  const { body } = await client.call('GET', path)
  assert.equal(body.webhook.host, host)
  const text = JSON.stringify(body)
  assert.ok(!text.includes('path-secret') && !text.includes(secret))
  assert.equal((await client.call('POST', `${path}/webhook/secret`)).status, 201)
  assert.equal((await client.call('DELETE', `${path}/webhook`)).status, 204)
  const { pool } = service.database
  const { rows: settings } = await pool.query('select * from notification_settings')
  assert.equal(settings[0].sealed_webhook, null)
  const entries = await readAuditEntries(service.database, workspace.workspaceId, 'webhook.changed')
  const host_sha256 = hash('sha256', host)
  assert.deepEqual(
    entries.map(({ details }) => details),
    [
      { change: 'set', host_sha256, format: 'standard' },
      { change: 'secret_rotated', host_sha256 },
      { change: 'removed', host_sha256 },
    ],
  )
  assert.ok(!service.logged().includes('path-secret') && !service.logged().includes(secret))
})

it('keeps the URL and the secret encrypted in the store', async test => {
  const { service, setWebhook } = await startNotificationsFixture(test)
  const secret = await setWebhook()
  const { rows } = await service.database.pool.query('select * from notification_settings')
  const stored = JSON.stringify(rows) + rows[0].sealed_webhook.toString('latin1')
  assert.ok(!stored.includes('path-secret') && !stored.includes(secret))
})

it('opens the webhook under a new key after it was resealed', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, receiver, raise, runJob, setWebhook } = fixture
  await setWebhook()
  const keys = service.delivery.credentialKeys
  const rotated = { current: Buffer.alloc(32, 9), previous: [keys.current] }
  assert.deepEqual(await resealWebhooks(service.database, rotated), { resealed: 1, unreadable: [] })
  assert.deepEqual(await resealWebhooks(service.database, rotated), { resealed: 0, unreadable: [] })
  const { unreadable } = await resealWebhooks(service.database, keys)
  assert.deepEqual(unreadable, [fixture.workspace.workspaceId])
  Object.assign(keys, rotated)
  await raise()
  await runJob()
  assert.equal(receiver.requests.length, 1)
})

it('returns 422 for a URL that may not be used, and for what is not on the lists', async test => {
  const { workspace, path } = await startNotificationsFixture(test)
  const { client } = workspace.owner
  const put = async (below: string, body: unknown) => {
    const reply = await client.call('PUT', `${path}${below}`, { body })
    assert.equal(reply.status, 422, JSON.stringify(body))
    return reply.body.errors
  }
  for (const [url, sentence] of [
    ['http://hooks.example.com/', /starts with https/],
    ['https://127.0.0.1/', /public address/],
    ['https://user:word@hooks.example.com/', /without a user name/],
    [`https://hooks.example.com/${'x'.repeat(2_000)}`, /Enter a URL, such as/],
    ['"><script>', /Enter a URL, such as/],
    [7, /Enter a URL, such as/],
    [undefined, /Enter a URL, such as/],
  ] as const) {
    assert.match((await put('/webhook', { url, format: 'standard' })).url[0], sentence)
  }
  const url = 'https://hooks.example.com/'
  assert.deepEqual(Object.keys(await put('/webhook', { url, format: 'other' })), ['format'])
  const wrong = { email_topics: ['webhook'], webhook_topics: 'results', digest_minutes: 1 }
  assert.deepEqual(Object.keys(await put('/topics', wrong)), Object.keys(wrong))
  assert.deepEqual(Object.keys(await put('/mine', { topics: [7] })), ['topics'])
})

it('sets a webhook only within 15 minutes of signing in or confirming', async test => {
  const { service, workspace, receiver, path } = await startNotificationsFixture(test)
  const { client } = workspace.owner
  const set = () =>
    client.call('PUT', `${path}/webhook`, { body: { url: receiver.url, format: 'standard' } })
  service.clock.advance(15 * 60)
  for (const { status, body } of [
    await set(),
    await client.call('POST', `${path}/webhook/secret`),
  ]) {
    assert.equal(status, 403)
    assert.match(body.message, /^Confirm your identity/)
  }
  await client.get('/account/confirm?return_to=%2Fworkspaces')
  await client.submit({ fields: { password: TEST_PASSWORD } })
  assert.match((await set()).body.signing_secret, /^whsec_/)
})

it('sends a test message on request, one at a time', async test => {
  const fixture = await startNotificationsFixture(test)
  const { workspace, receiver, path, setWebhook, runJob } = fixture
  const { client } = workspace.owner
  const ask = () => client.call('POST', `${path}/webhook/test`)
  const lastMessage = async () => (await client.call('GET', path)).body.webhook.messages[0]
  assert.equal((await ask()).status, 409)
  await setWebhook()
  assert.equal((await ask()).status, 204)
  assert.equal((await lastMessage()).status, 'pending')
  const again = await ask()
  assert.equal(again.status, 409)
  assert.match(again.body.message, /still being sent/)
  await runJob()
  assert.equal(receiver.requests.length, 1)
  const { data } = JSON.parse(receiver.requests[0]?.body ?? '{}')
  assert.equal(data.notifications[0].type, 'webhook.test')
  const { status, attempts } = await lastMessage()
  assert.deepEqual([status, attempts], ['sent', 1])
  await fixture.raise()
  await runJob()
  assert.equal(receiver.requests.length, 2)
})

it('cancels what waits for a webhook that is replaced', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, receiver, raise, runJob, setWebhook } = fixture
  await setWebhook()
  receiver.answer(response => void response.writeHead(500).end())
  await raise()
  await runJob()
  await setWebhook('text')
  service.clock.advance(60)
  await runJob()
  assert.equal(receiver.requests.length, 1)
  await raise()
  service.clock.advance(900)
  await runJob()
  assert.match(receiver.requests[1]?.body ?? '', /^\{"text":/)
})

it('returns 403 to other sites, and changes nothing', async test => {
  const { service, workspace, path, setWebhook } = await startNotificationsFixture(test)
  await setWebhook()
  const before = await readNotificationSettings(service.database, workspace.workspaceId)
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  for (const { method, url } of NOTIFICATION_OPERATIONS) {
    const own = `${SESSION_API_PATH}${url}`.replace(':workspace', String(workspace.workspaceId))
    const { status } = await workspace.owner.client.call(method, own, { headers })
    assert.equal(status, 403, `${method} ${url}`)
  }
  assert.deepEqual(await readNotificationSettings(service.database, workspace.workspaceId), before)
  const { owner: stranger } = await createTestWorkspace(service)
  assert.equal((await stranger.client.call('GET', path)).status, 404)
})

it('creates the webhook client of the program without options', () => {
  const root = join(import.meta.dirname, '../..')
  const calls = globSync('**/*.ts', { cwd: root })
    .filter(path => !path.endsWith('.test.ts') && path !== 'runtime/webhooks/client.ts')
    .flatMap(path => readFileSync(join(root, path), 'utf8').match(/createWebhookClient\(.*/g) ?? [])
  assert.deepEqual(calls, ['createWebhookClient(),'])
})
