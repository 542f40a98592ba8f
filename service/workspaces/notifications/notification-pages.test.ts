import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { PageClient, submitFormPairs, unescapeHtml } from '../../../testing/fixtures/page-client.ts'
import {
  addMember,
  createTestUser,
  createTestWorkspace,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'
import { ALERT_TOPICS } from './notification.ts'
import { readNotificationSettings, resealWebhooks } from './settings-store.ts'

const FORMS = ['', '/webhook', '/webhook/secret', '/webhook/enable', '/webhook/test']
const ALL_FORMS = [...FORMS, '/webhook/remove']

it('saves topics and the interval, with an audit entry', async test => {
  const { service, workspace, pathOfPage } = await startNotificationsFixture(test)
  const { client, userId } = workspace.owner
  const before = await client.get(pathOfPage)
  assert.match(before.text, /name="email_topics" value="approvals" checked/)
  const saved = await submitFormPairs(client, pathOfPage, [
    ['email_topics', 'results'],
    ['webhook_topics', 'approvals'],
    ['webhook_topics', 'results'],
    ['digest_minutes', '60'],
  ])
  assert.match(saved.text, /Notifications saved/)
  assert.match(saved.text, /name="email_topics" value="approvals">/)
  assert.match(saved.text, /<option value="60" selected>/)
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

it('shows the signing secret once, and the URL never', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, receiver, pathOfPage, setWebhook } = fixture
  const { client } = workspace.owner
  const secret = await setWebhook()
  const { host } = new URL(receiver.url)
  const page = await client.get(pathOfPage)
  assert.ok(page.text.includes(host))
  assert.ok(!page.text.includes('path-secret') && !page.text.includes(secret))
  await client.post(`${pathOfPage}/webhook/secret`, {})
  await client.post(`${pathOfPage}/webhook/remove`, {})
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

it('returns 422 with the submitted form for a URL that may not be used', async test => {
  const { workspace, pathOfPage } = await startNotificationsFixture(test)
  const { client } = workspace.owner
  for (const [url, sentence] of [
    ['http://hooks.example.com/', /starts with https/],
    ['https://127.0.0.1/', /public address/],
    ['https://user:word@hooks.example.com/', /without a user name/],
    [`https://hooks.example.com/${'x'.repeat(2_000)}`, /Enter a URL, such as/],
    ['"><script>', /Enter a URL, such as/],
  ] as const) {
    const page = await client.post(`${pathOfPage}/webhook`, { url, format: 'standard' })
    assert.equal(page.status, 422, url)
    assert.match(page.text, sentence)
    assert.match(page.text, /href="#url"/)
    assert.doesNotMatch(page.text, /<script/)
  }
  const page = await client.post(`${pathOfPage}/webhook`, {
    url: 'https://hooks.example.com/',
    format: 'other',
  })
  assert.equal(page.status, 422)
  assert.match(page.text, /href="#format"/)
  assert.equal((await client.post(pathOfPage, { digest_minutes: '1' })).status, 422)
})

it('sets a webhook only within 15 minutes of signing in or confirming', async test => {
  const { service, workspace, receiver, pathOfPage } = await startNotificationsFixture(test)
  const { client } = workspace.owner
  const fields = { url: receiver.url, format: 'standard' }
  service.clock.advance(15 * 60)
  for (const form of ['/webhook', '/webhook/secret']) {
    const refused = await client.post(`${pathOfPage}${form}`, fields)
    assert.equal(refused.status, 403, form)
    assert.match(refused.text, /href="\/account\/confirm/)
  }
  const link = `/account/confirm?return_to=${encodeURIComponent(pathOfPage)}`
  const page = await client.get(pathOfPage)
  assert.ok(unescapeHtml(page.text).includes(link))
  assert.doesNotMatch(page.text, /name="url"/)
  await client.get(link)
  assert.equal((await client.submit({ fields: { password: TEST_PASSWORD } })).path, pathOfPage)
  const set = await client.submit({ action: `${pathOfPage}/webhook`, fields })
  assert.match(set.text, /whsec_/)
})

it('sends a test message on request, one at a time', async test => {
  const fixture = await startNotificationsFixture(test)
  const { workspace, receiver, pathOfPage, setWebhook, runJob } = fixture
  const { client } = workspace.owner
  assert.equal((await client.post(`${pathOfPage}/webhook/test`, {})).status, 409)
  await setWebhook()
  const queued = await client.post(`${pathOfPage}/webhook/test`, {})
  assert.match(queued.text, /A test message is sent within a minute/)
  assert.match(queued.text, /waiting/)
  const again = await client.post(`${pathOfPage}/webhook/test`, {})
  assert.equal(again.status, 409)
  assert.match(again.text, /still being sent/)
  await runJob()
  assert.equal(receiver.requests.length, 1)
  const { data } = JSON.parse(receiver.requests[0]?.body ?? '{}')
  assert.equal(data.notifications[0].type, 'webhook.test')
  assert.match((await client.get(pathOfPage)).text, /1 attempt</)
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

it('lets members read and only owners change', async test => {
  const { service, workspace, pathOfPage, setWebhook } = await startNotificationsFixture(test)
  const { workspaceId } = workspace
  await setWebhook()
  for (const role of ['admin', 'member'] as const) {
    const user = await createTestUser(service)
    await addMember(service, { workspaceId, userId: user.userId, role })
    const { status, text } = await user.client.get(pathOfPage)
    assert.equal(status, 200)
    assert.match(text, /Only an owner of the workspace can change/)
    assert.doesNotMatch(text, /<form[^>]*notifications(?!\/mine)/)
    for (const form of ALL_FORMS) {
      const fields = { url: 'https://hooks.example.com/', format: 'text', digest_minutes: '5' }
      const page = await user.client.post(`${pathOfPage}${form}`, fields)
      assert.equal(page.status, 403, `${role} ${form}`)
    }
  }
  const { owner: stranger } = await createTestWorkspace(service)
  assert.equal((await stranger.client.get(pathOfPage)).status, 404)
  for (const form of ALL_FORMS) {
    assert.equal((await stranger.client.post(`${pathOfPage}${form}`, {})).status, 404, form)
  }
  assert.match((await new PageClient(service.url).get(pathOfPage)).path, /^\/sign-in/)
  const { webhook } = await readNotificationSettings(service.database, workspaceId)
  assert.match(webhook?.host ?? '', /^hooks\.example:/)
})

it('returns 403 for cross-site forms', async test => {
  const { workspace, pathOfPage } = await startNotificationsFixture(test)
  for (const form of ALL_FORMS) {
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const page = await workspace.owner.client.post(`${pathOfPage}${form}`, {}, headers)
    assert.equal(page.status, 403, form)
  }
})

it('creates the webhook client of the program without options', () => {
  const root = join(import.meta.dirname, '../..')
  const calls = globSync('**/*.ts', { cwd: root })
    .filter(path => !path.endsWith('.test.ts') && path !== 'runtime/webhooks/client.ts')
    .flatMap(path => readFileSync(join(root, path), 'utf8').match(/createWebhookClient\(.*/g) ?? [])
  assert.deepEqual(calls, ['createWebhookClient(),'])
})
