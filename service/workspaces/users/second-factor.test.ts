import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { setUpAuthenticatorApp } from '../../../testing/fixtures/authenticator-app.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  createSignedInClient,
  createTestUser,
  findEmailedLink,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'
import { removeSecondFactors } from './user-status.ts'

const CHALLENGE = /^\/sign-in\/second-factor/

async function startSignIn(service: TestService, email: string): Promise<PageClient> {
  const client = new PageClient(service.url)
  await client.get('/sign-in?return_to=/account')
  await client.submit({ fields: { email, password: TEST_PASSWORD } })
  return client
}

it('asks for a code after the password and then opens the requested page', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(owner)
  const client = await startSignIn(service, email)
  assert.match(client.page?.path ?? '', CHALLENGE)
  const held = client.cookies.get('signalbox_session')
  assert.equal((await client.call('GET', `${SESSION_API_PATH}/me`)).status, 401)
  for (const path of ['/account', '/workspaces', '/account/password']) {
    assert.match((await client.get(path)).path, /^\/sign-in\?/, `${path} without the code`)
  }
  await client.get('/sign-in/second-factor?return_to=/account')
  const page = await client.submit({ fields: { code: app.code(1) } })
  assert.deepEqual([page.status, page.path], [200, '/account'])
  assert.notEqual(client.cookies.get('signalbox_session'), held)
})

it('asks for a code after an emailed link', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(owner)
  const client = new PageClient(service.url)
  await client.post('/magic', { email })
  await client.get(findEmailedLink(service.mails, email, '/magic'))
  const page = await client.submit()
  assert.match(page.path, CHALLENGE)
  assert.match((await client.get('/account')).path, /^\/sign-in\?/)
  await client.get('/sign-in/second-factor')
  assert.equal((await client.submit({ fields: { code: app.code(1) } })).path, '/workspaces')
})

it('ends other sessions when an app is set up, and tells the person by email', async test => {
  const service = await startTestService(test)
  const { userId, client, email } = await createTestUser(service)
  const other = await createSignedInClient(service, userId)
  const { recoveryCodes } = await setUpAuthenticatorApp(client)
  assert.equal(new Set(recoveryCodes).size, 10)
  assert.match((await other.get('/account')).path, /^\/sign-in/)
  assert.equal((await client.get('/account')).path, '/account')
  const [mail] = service.mails.filter(({ to }) => to === email)
  assert.match(mail?.text ?? '', /an authenticator app was added/)
})

it('accepts each code once, also for two concurrent sign-ins', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(owner)
  const clients = await Promise.all([1, 2, 3].map(() => startSignIn(service, email)))
  const code = app.code(1)
  const pages = await Promise.all(
    clients.map(client => client.post('/sign-in/second-factor', { code })),
  )
  assert.deepEqual(pages.map(({ status }) => status).toSorted(), [200, 422, 422])
  const again = await startSignIn(service, email)
  assert.equal((await again.submit({ fields: { code } })).status, 422)
})

it('accepts each recovery code once, and none after they are replaced', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  const { recoveryCodes } = await setUpAuthenticatorApp(owner)
  const [first = '', second = ''] = recoveryCodes
  const enter = async (code: string) =>
    (await startSignIn(service, email)).submit({ fields: { code } })
  assert.equal((await enter(first)).path, '/account')
  assert.equal((await enter(first)).status, 422)
  await owner.get('/account/recovery-codes')
  const page = await owner.submit({ fields: { password: TEST_PASSWORD } })
  const [, replaced = ''] = /<code>(\w{5}-\w{5})<\/code>/.exec(page.text) ?? []
  assert.equal((await enter(second)).status, 422)
  assert.equal((await enter(replaced)).path, '/account')
})

it('accepts no code for 15 minutes after ten wrong ones, also concurrent ones', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  const { app, recoveryCodes } = await setUpAuthenticatorApp(owner)
  const client = await startSignIn(service, email)
  const guesses = await Promise.all(
    Array.from({ length: 14 }, (_, index) => {
      const guess = new PageClient(service.url)
      guess.cookies.set('signalbox_session', client.cookies.get('signalbox_session') ?? '')
      return guess.post('/sign-in/second-factor', { code: `wrong-${index}` })
    }),
  )
  const counted = guesses.map(({ status }) => status)
  assert.equal(counted.filter(status => status === 422).length, 10)
  assert.equal(counted.filter(status => status === 429).length, 4)
  const locked = await client.post('/sign-in/second-factor', { code: recoveryCodes[0] ?? '' })
  assert.equal(locked.status, 429)
  assert.equal(locked.headers.get('retry-after'), '900')
  service.clock.advance(15 * 60)
  const later = await startSignIn(service, email)
  assert.equal((await later.submit({ fields: { code: app.code(1) } })).path, '/account')
})

it('ends a sign-in that waits for a code when the person cancels it', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(owner)
  const client = await startSignIn(service, email)
  const held = client.cookies.get('signalbox_session') ?? ''
  await client.submit({ action: '/sign-out' })
  client.cookies.set('signalbox_session', held)
  const page = await client.post('/sign-in/second-factor', { code: app.code(1) })
  assert.equal(page.path, '/sign-in')
})

it('forgets a sign-in that waits for a code after ten minutes', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(owner)
  const client = await startSignIn(service, email)
  service.clock.advance(10 * 60)
  const page = await client.post('/sign-in/second-factor', { code: app.code(1) })
  assert.equal(page.path, '/sign-in')
})

it('keeps the app across a password reset by email', async test => {
  const service = await startTestService(test)
  const { client: owner, email } = await createTestUser(service)
  await setUpAuthenticatorApp(owner)
  const client = new PageClient(service.url)
  await client.post('/forgot', { email })
  await client.get(findEmailedLink(service.mails, email, '/reset'))
  const password = 'plum anvil teacup'
  await client.submit({ fields: { password } })
  assert.match((await client.post('/sign-in', { email, password })).path, CHALLENGE)
})

it('returns 422 for a wrong password or a wrong first code and enables nothing', async test => {
  const service = await startTestService(test)
  const { client, email } = await createTestUser(service)
  const wrong = await client.post('/account/authenticator', { password: 'not the password' })
  assert.equal(wrong.status, 422)
  assert.match(wrong.text, /This is not your password/)
  await client.post('/account/authenticator', { password: TEST_PASSWORD })
  const page = await client.post('/account/authenticator/verify', { code: '000000' })
  assert.equal(page.status, 422)
  assert.equal((await startSignIn(service, email)).page?.path, '/account')
})

it('stores the secret and the recovery codes encrypted', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  const { recoveryCodes } = await setUpAuthenticatorApp(client)
  const { rows } = await service.database.pool.query('select * from people.two_factors')
  const stored = JSON.stringify(rows)
  assert.equal(rows.length, 1)
  for (const code of recoveryCodes) assert.doesNotMatch(stored, new RegExp(code))
  assert.match(rows[0].secret, /^[0-9a-f]{100,}$/)
  assert.doesNotMatch(service.logged(), new RegExp(recoveryCodes[0] ?? ''))
})

it('removes the app, after which the password is enough', async test => {
  const service = await startTestService(test)
  const { client, email } = await createTestUser(service)
  await setUpAuthenticatorApp(client)
  await client.get('/account')
  const page = await client.submit({ action: '/account/authenticator/remove' })
  assert.match(page.text, /Authenticator app removed/)
  assert.equal((await startSignIn(service, email)).page?.path, '/account')
})

it('signs in by password alone after the operator removed lost factors', async test => {
  const service = await startTestService(test)
  const { client, email } = await createTestUser(service)
  await setUpAuthenticatorApp(client)
  const { database, clock } = service
  const audit = createTestAuditTrail(service)
  const context = { database, audit, now: clock.now, recordSecurityEvent: async () => {} }
  assert.equal(await removeSecondFactors(context, 'unknown@people.example'), false)
  assert.equal(await removeSecondFactors(context, email), true)
  assert.match((await client.get('/account')).path, /^\/sign-in/)
  assert.equal((await startSignIn(service, email)).page?.path, '/account')
})

it('sets up one app when the form is submitted twice at once', async test => {
  const service = await startTestService(test)
  const { client, userId } = await createTestUser(service)
  // Without a password to check, the requests reach the store together.
  await service.database.pool.query('delete from people.accounts where user_id = $1', [userId])
  const pages = await Promise.all(
    Array.from({ length: 8 }, () => {
      const tab = new PageClient(service.url)
      tab.cookies.set('signalbox_session', client.cookies.get('signalbox_session') ?? '')
      return tab.post('/account/authenticator')
    }),
  )
  const statuses = pages.map(({ status }) => status)
  assert.ok(statuses.includes(200), statuses.join(' '))
  assert.ok(
    statuses.every(status => status === 200 || status === 422),
    statuses.join(' '),
  )
  const { rows } = await service.database.pool.query('select 1 from people.two_factors')
  assert.equal(rows.length, 1)
  assert.ok((await setUpAuthenticatorApp(client, '')).app)
})
