import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { setUpAuthenticatorApp } from '../../../testing/fixtures/authenticator-app.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  createSignedInClient,
  createTestUser,
  findEmailedLink,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'
import { deleteSecurityEventsBefore, listSecurityEvents } from './security-event-store.ts'

const PROXY = { trustedProxies: '127.0.0.1' }
const FROM = { 'x-forwarded-for': '203.0.113.5' }
const NEW_PASSWORD = 'another battery staple'

async function readEvents({ database }: TestService) {
  return listSecurityEvents(database, { since: new Date(0), after: null, limit: 1_000 })
}

async function readTypes(service: TestService) {
  return (await readEvents(service)).map(({ type, userId, details }) => [type, userId, details])
}

function post(service: TestService, path: string, fields: Record<string, string>) {
  return new PageClient(service.url).post(path, fields, FROM)
}

it('records sign-ins and failures with the account, the address and the request', async test => {
  const service = await startTestService(test, PROXY)
  const { email, userId } = await createTestUser(service)
  await post(service, '/sign-in', { email, password: 'wrong' })
  await post(service, '/sign-in', { email: 'unknown@people.example', password: 'wrong' })
  await post(service, '/sign-in', { email: ` ${email.toUpperCase()}`, password: TEST_PASSWORD })
  const events = await readEvents(service)
  const refused = { method: 'password', reason: 'refused' }
  assert.deepEqual(
    events.map(({ type, userId: user, details }) => [type, user, details]),
    [
      ['sign_in.failed', userId, refused],
      ['sign_in.failed', null, refused],
      ['sign_in.succeeded', userId, { method: 'password' }],
    ],
  )
  for (const { at, clientAddress, requestId } of events) {
    assert.deepEqual(at, service.clock.now())
    assert.equal(clientAddress, '203.0.113.5')
    assert.match(requestId ?? '', /^req_/)
  }
})

it('writes a line to the log for each event, without addresses of any kind', async test => {
  const service = await startTestService(test, PROXY)
  const { email, userId } = await createTestUser(service)
  await post(service, '/sign-in', { email, password: 'wrong' })
  const lines = service
    .logged()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  const [line] = lines.filter(({ msg }) => msg === 'security event')
  assert.deepEqual([line.event, line.user_id], ['sign_in.failed', userId])
  assert.match(line.request_id, /^req_/)
  for (const secret of [email, '203.0.113.5', 'wrong'])
    assert.ok(!service.logged().includes(secret))
})

it('records changed and reset passwords, requested links and ended sessions', async test => {
  const service = await startTestService(test, PROXY)
  const { email, userId, client } = await createTestUser(service)
  await createSignedInClient(service, userId)
  const change = (current: string) =>
    client.post('/account/password', { current, password: NEW_PASSWORD })
  await change('wrong')
  await change(TEST_PASSWORD)
  await client.call('DELETE', `${SESSION_API_PATH}/sessions`)
  await client.post('/sign-out')
  await post(service, '/forgot', { email })
  const link = new URL(findEmailedLink(service.mails, email, '/reset'), service.url)
  const token = link.searchParams.get('token') ?? ''
  await post(service, '/reset', { token, password: 'one more battery staple' })
  await post(service, '/reset', { token, password: 'and yet another staple' })
  await post(service, '/sign-up', { name: 'Eve', email, password: NEW_PASSWORD })
  await post(service, '/magic/sign-in', { token: 'x' })
  assert.deepEqual(await readTypes(service), [
    ['password.change_failed', userId, {}],
    ['password.changed', userId, {}],
    ['sign_in.succeeded', userId, { method: 'password' }],
    ['session.ended', userId, {}],
    ['sign_out', userId, {}],
    ['email_link.requested', userId, { kind: 'reset' }],
    ['password.reset', userId, {}],
    ['sign_up.requested', userId, {}],
    ['sign_in.failed', null, { method: 'email_link', reason: 'refused' }],
  ])
  const reset = (await readEvents(service)).find(({ type }) => type === 'password.reset')
  assert.equal(reset?.clientAddress, '203.0.113.5')
  assert.match(reset?.requestId ?? '', /^req_/)
})

it('records added and removed factors, wrong codes, and the sign-in after the right one', async test => {
  const service = await startTestService(test)
  const { email, userId, client } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(client)
  const browser = new PageClient(service.url)
  await browser.post('/sign-in', { email, password: TEST_PASSWORD })
  await browser.post('/sign-in/second-factor', { code: '000000' })
  await browser.post('/sign-in/second-factor', { code: app.code(1) })
  await browser.post('/account/recovery-codes', { password: TEST_PASSWORD })
  await browser.post('/account/authenticator/remove')
  const factor = { factor: 'authenticator_app' }
  assert.deepEqual(await readTypes(service), [
    ['second_factor.added', userId, factor],
    ['second_factor.failed', userId, {}],
    ['sign_in.succeeded', userId, { method: 'second_factor' }],
    ['recovery_codes.replaced', userId, {}],
    ['second_factor.removed', userId, factor],
  ])
})

it('records refused attempts above a limit, and keeps a hundred an hour per address', async test => {
  const limits = { signInRatePerMinute: 100_000 }
  const service = await startTestService(test, { ...PROXY, limits })
  const attempts = Array.from({ length: 110 }, (_, index) => index)
  for (const index of attempts) {
    await post(service, '/magic', { email: `unknown-${index % 3}@people.example` })
  }
  const events = await readEvents(service)
  assert.equal(events.length, 100)
  const limited = events.filter(({ type }) => type === 'sign_in.limited')
  assert.ok(limited.length > 50)
  assert.deepEqual(limited[0]?.details, { limit: 'account_emails' })
  service.clock.advance(3_600)
  await post(service, '/sign-in', { email: 'unknown@people.example', password: 'wrong' })
  assert.equal((await readEvents(service)).length, 101)
})

it('signs in even when the event cannot be stored', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  await service.database.pool.query('alter table security_events rename to taken_away')
  const page = await post(service, '/sign-in', { email, password: TEST_PASSWORD })
  assert.equal(page.path, '/workspaces')
  assert.match(service.logged(), /a security event was not stored/)
})

it('deletes expired events and keeps later ones', async test => {
  const service = await startTestService(test)
  await post(service, '/sign-in', { email: 'unknown@people.example', password: 'wrong' })
  service.clock.advance(60)
  await post(service, '/sign-in', { email: 'unknown@people.example', password: 'wrong' })
  assert.equal(await deleteSecurityEventsBefore(service.database, service.clock.now()), 1)
  assert.equal((await readEvents(service)).length, 1)
})
