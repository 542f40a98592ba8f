import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { setUserStatus } from './user-store.ts'

interface Attempt {
  email: string
  password?: string
  path?: string
  client?: PageClient
}

async function signedIn(service: TestService, attempt: Attempt): Promise<PageClient> {
  const { email, password = TEST_PASSWORD, path = '/sign-in' } = attempt
  const client = attempt.client ?? new PageClient(service.url)
  await client.get(path)
  await client.submit({ fields: { email, password } })
  return client
}

it('returns to the requested page after signing in', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const client = await signedIn(service, { email: ` ${email.toUpperCase()} `, path: '/account' })
  assert.deepEqual([client.page?.status, client.page?.path], [200, '/account'])
})

it('returns the same 401 page for a wrong password and an unknown account', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const known = await signedIn(service, { email, password: 'wrong' })
  const unknown = await signedIn(service, { email: 'nobody@people.example' })
  assert.deepEqual([known.page?.status, unknown.page?.status], [401, 401])
  const withoutAddress = (page: PageClient, address: string) =>
    page.page?.text.replaceAll(address.replace('@', '&#64;'), '').replaceAll(address, '')
  assert.equal(withoutAddress(known, email), withoutAddress(unknown, 'nobody@people.example'))
  assert.equal(known.cookies.size + unknown.cookies.size, 0)
})

it('returns 401 for a disabled person and ends their sessions', async test => {
  const service = await startTestService(test)
  const { email, client } = await createTestUser(service)
  assert.equal((await client.get('/account')).path, '/account')
  await setUserStatus(service.database, email, 'disabled')
  assert.match((await client.get('/account')).path, /^\/sign-in/)
  assert.equal((await signedIn(service, { email })).page?.status, 401)
  await setUserStatus(service.database, email, 'active')
  assert.equal((await signedIn(service, { email })).page?.path, '/workspaces')
})

it('ends the previous session of the browser on sign-in', async test => {
  const service = await startTestService(test)
  const attacker = await createTestUser(service)
  const victim = await createTestUser(service)
  const planted = new Map(attacker.client.cookies)
  const client = new PageClient(service.url)
  for (const [name, value] of planted) client.cookies.set(name, value)
  await client.post('/sign-in', { email: victim.email, password: TEST_PASSWORD })
  assert.match((await client.get('/account')).text, new RegExp(victim.email.replace('@', '.*')))
  assert.notDeepEqual(client.cookies, planted)
  assert.match((await attacker.client.get('/account')).path, /^\/sign-in/)
})

it('rejects a made-up session token and does not adopt it', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const client = new PageClient(service.url)
  client.cookies.set('signalbox_session', 'A'.repeat(32))
  await signedIn(service, { email, client })
  assert.notEqual(client.cookies.get('signalbox_session'), 'A'.repeat(32))
})

it('sets an HttpOnly, SameSite cookie that HTTPS binds to the host', async test => {
  const plain = await startTestService(test)
  const secure = await startTestService(test, { publicOrigin: 'https://signalbox.example' })
  const cookieOf = async (service: TestService, origin: string) => {
    const { email } = await createTestUser(service)
    const response = await fetch(`${service.url}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ email, password: TEST_PASSWORD }),
    })
    return response.headers.getSetCookie()[0] ?? ''
  }
  assert.match(
    await cookieOf(plain, plain.url),
    /^signalbox_session=\w{32}; Path=\/; Max-Age=1209600; HttpOnly; SameSite=Lax$/,
  )
  assert.match(
    await cookieOf(secure, 'https://signalbox.example'),
    /^__Host-signalbox_session=\w{32}; Path=\/; Max-Age=1209600; HttpOnly; SameSite=Lax; Secure$/,
  )
})

it('stores sessions in a form that opens nothing', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const client = await signedIn(service, { email })
  const token = client.cookies.get('signalbox_session') ?? ''
  const { rows } = await service.database.pool.query(
    'select token, expires_at, created_at from people.sessions order by id desc limit 1',
  )
  assert.notEqual(rows[0].token, token)
  assert.equal(rows[0].expires_at - rows[0].created_at, 14 * DAY_MILLISECONDS)
  assert.deepEqual(rows[0].created_at, service.clock.now())
  const thief = new PageClient(service.url)
  thief.cookies.set('signalbox_session', rows[0].token)
  assert.match((await thief.get('/account')).path, /^\/sign-in/)
  assert.doesNotMatch(service.logged(), new RegExp(token))
})

it('ends a session on expiry and on sign-out', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  // In use, because an idle session ends earlier.
  for (const seconds of [3 * 86_400, 4 * 86_400 - 1, 4 * 86_400 - 1, 3 * 86_400 + 1]) {
    service.clock.advance(seconds)
    assert.equal((await client.get('/account')).path, '/account')
  }
  service.clock.advance(1)
  assert.match((await client.get('/account')).path, /^\/sign-in/)

  const other = await createTestUser(service)
  const copy = new Map(other.client.cookies)
  const page = await other.client.post('/sign-out')
  assert.match(page.text, /You are signed out/)
  assert.equal(other.client.cookies.size, 0)
  for (const [name, value] of copy) other.client.cookies.set(name, value)
  assert.match((await other.client.get('/account')).path, /^\/sign-in/)
})

it('redirects only to our own pages after sign-in', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const elsewhere = [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
  ]
  for (const target of [...elsewhere, 'javascript:alert(1)', '/%09//x', '/./\\/evil.example']) {
    const client = new PageClient(service.url)
    const fields = { email, password: TEST_PASSWORD, return_to: target }
    await client.get(`/sign-in?return_to=${encodeURIComponent(target)}`)
    assert.doesNotMatch(client.page?.text ?? '', /evil/, target)
    const page = await client.post('/sign-in', fields)
    assert.ok(page.redirects[0]?.startsWith('/'), target)
    assert.doesNotMatch(page.redirects[0] ?? '', /evil/, target)
  }
})
