import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  createTestUser,
  findEmailedLink,
  TEST_PASSWORD,
  type TestUser,
} from '../../../testing/fixtures/users.ts'

const NEXT_PASSWORD = 'a better horse'
const COOKIE = 'signalbox_device'

async function startLimitedService(test: TestContext): Promise<TestService> {
  const limits = { signInRatePerMinute: 10_000 }
  return startTestService(test, { limits, monotonicSeconds: () => 0 })
}

function signIn({ url }: TestService, email: string, password = TEST_PASSWORD) {
  return new PageClient(url).post('/sign-in', { email, password })
}

/** A browser in which the user has signed in before, and signed out. */
async function createKnownClient({ url }: TestService, { email }: TestUser) {
  const client = new PageClient(url)
  const page = await client.post('/sign-in', { email, password: TEST_PASSWORD })
  assert.equal(page.status, 200)
  await client.post('/sign-out')
  return client
}

/** Ten wrong passwords from elsewhere, after which the account refuses unknown devices. */
async function attack(service: TestService, email: string): Promise<void> {
  await Promise.all(Array.from({ length: 10 }, (_, index) => signIn(service, email, `${index}`)))
  assert.equal((await signIn(service, email)).status, 429)
}

it('locks out neither known devices nor links nor sessions while another device guesses', async test => {
  const service = await startLimitedService(test)
  const [victim, attacker] = [await createTestUser(service), await createTestUser(service)]
  const { email } = victim
  const known = await createKnownClient(service, victim)
  const foreign = await createKnownClient(service, attacker)
  await attack(service, email)
  for (const cookie of madeUpCookies(known, foreign)) {
    const client = new PageClient(service.url)
    client.cookies.set(COOKIE, cookie)
    const page = await client.post('/sign-in', { email, password: TEST_PASSWORD })
    assert.equal(page.status, 429, cookie.slice(0, 100))
  }
  const fields = { email, password: TEST_PASSWORD }
  assert.equal((await known.post('/sign-in', fields)).path, '/workspaces')

  const change = { current: TEST_PASSWORD, password: NEXT_PASSWORD }
  assert.equal((await victim.client.post('/account/password', change)).status, 200)
  const fresh = new PageClient(service.url)
  assert.equal((await fresh.post('/magic', { email })).status, 200)
  await fresh.get(findEmailedLink(service.mails, email, '/magic'))
  assert.equal((await fresh.submit()).path, '/workspaces')
  assert.equal((await fresh.post('/forgot', { email })).status, 200)
  // The link has made the device known.
  const next = { email, password: NEXT_PASSWORD }
  assert.equal((await fresh.post('/sign-in', next)).path, '/workspaces')
})

function madeUpCookies(known: PageClient, foreign: PageClient): string[] {
  const valid = known.cookies.get(COOKIE) ?? ''
  const [nonce = '', signature = ''] = valid.split('.')
  return [
    foreign.cookies.get(COOKIE) ?? '',
    `${nonce}.`,
    `${nonce}.${'A'.repeat(signature.length)}`,
    `${'A'.repeat(nonce.length)}.${signature}`,
    valid.slice(0, -1),
    '.'.repeat(4_000),
  ]
}

it('returns 429 to a known device after ten attempts of its own', async test => {
  const service = await startLimitedService(test)
  const user = await createTestUser(service)
  const known = await createKnownClient(service, user)
  const other = await createKnownClient(service, user)
  const guess = (client: PageClient, password: string) =>
    client.post('/sign-in', { email: user.email, password })
  for (let count = 0; count < 10; count += 1) {
    assert.equal((await guess(known, `guess ${count}`)).status, 401)
  }
  assert.equal((await guess(known, TEST_PASSWORD)).status, 429)
  assert.equal((await guess(other, TEST_PASSWORD)).status, 200)
})

it('limits each kind of link apart from the others, and apart from passwords', async test => {
  const service = await startLimitedService(test)
  const user = await createTestUser(service)
  const { email } = user
  const known = await createKnownClient(service, user)
  const request = (path: string, client = new PageClient(service.url)) =>
    client.post(path, { email }).then(({ status }) => status)
  for (let count = 0; count < 5; count += 1) assert.equal(await request('/forgot'), 200)
  assert.equal(await request('/forgot'), 429)
  assert.equal(await request('/magic'), 200)
  assert.equal(await request('/forgot', known), 200)
  assert.equal((await signIn(service, email)).status, 200)
})

it('knows a browser for each of several accounts', async test => {
  const service = await startLimitedService(test)
  const [first, second] = [await createTestUser(service), await createTestUser(service)]
  const client = new PageClient(service.url)
  for (const { email } of [first, second]) {
    await client.post('/sign-in', { email, password: TEST_PASSWORD })
  }
  await attack(service, first.email)
  const page = await client.post('/sign-in', { email: first.email, password: TEST_PASSWORD })
  assert.equal(page.status, 200)
})

it('forgets all known devices when the password changes, except the one that changes it', async test => {
  const service = await startLimitedService(test)
  const user = await createTestUser(service)
  const { email } = user
  const thief = await createKnownClient(service, user)
  const owner = new PageClient(service.url)
  await owner.post('/sign-in', { email, password: TEST_PASSWORD })
  await owner.post('/account/password', { current: TEST_PASSWORD, password: NEXT_PASSWORD })
  await attack(service, email)
  const fields = { email, password: NEXT_PASSWORD }
  assert.equal((await thief.post('/sign-in', fields)).status, 429)
  assert.equal((await owner.post('/sign-in', fields)).status, 200)
})

it('sets a device cookie that scripts cannot read and that HTTPS binds to the host', async test => {
  for (const [publicOrigin, name] of [
    ['http://127.0.0.1:3000', COOKIE],
    ['https://signalbox.example', `__Host-${COOKIE}`],
  ] as const) {
    const service = await startTestService(test, { publicOrigin })
    const { email } = await createTestUser(service)
    const response = await fetch(`${service.url}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: publicOrigin },
      body: new URLSearchParams({ email, password: TEST_PASSWORD }),
    })
    const cookie = response.headers.getSetCookie().find(text => text.startsWith(`${name}=`)) ?? ''
    assert.match(cookie, /; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax/)
    assert.equal(/; Secure/.test(cookie), publicOrigin.startsWith('https:'))
    assert.ok(!cookie.includes(email.split('@')[0] ?? ''), 'no address in the cookie')
  }
})
