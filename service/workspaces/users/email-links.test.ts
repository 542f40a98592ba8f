import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, findEmailedLink, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'

const NEXT_PASSWORD = 'a better horse'

async function requestLink(service: TestService, path: string, email: string) {
  const client = new PageClient(service.url)
  await client.get(path)
  return client.submit({ fields: { email } })
}

/** Backdates links in the store, because the library reads the system clock. */
async function ageLinks({ database }: TestService): Promise<void> {
  await database.pool.query(`update people.verifications set expires_at = '2020-01-01'`)
}

for (const path of ['/forgot', '/magic', '/verify']) {
  it(`${path} responds the same with and without an account`, async test => {
    const service = await startTestService(test)
    const { email } = await createTestUser(service)
    const known = await requestLink(service, path, email)
    const unknown = await requestLink(service, path, 'nobody@people.example')
    assert.equal(known.status, 200)
    assert.equal(known.text, unknown.text)
    assert.deepEqual(
      service.mails.map(({ to }) => to),
      path === '/verify' ? [] : [email],
    )
    assert.equal((await requestLink(service, path, 'no address')).status, 422)
  })
}

for (const path of ['/forgot', '/magic']) {
  it(`${path} stores a link with and without an account, so that both take as long`, async test => {
    const service = await startTestService(test)
    const { email } = await createTestUser(service)
    const storedBy = async (address: string) => {
      await service.database.pool.query('delete from people.verifications')
      await requestLink(service, path, address)
      const { rows } = await service.database.pool.query('select value from people.verifications')
      return rows.length
    }
    assert.equal(await storedBy(email), 1)
    assert.equal(await storedBy('nobody@people.example'), 1)
  })
}

it('resets the password once by an emailed link and ends all sessions', async test => {
  const service = await startTestService(test)
  const { email, client: signedIn } = await createTestUser(service)
  await requestLink(service, '/forgot', email)
  const link = findEmailedLink(service.mails, email, '/reset')
  const client = new PageClient(service.url)
  await client.get(link)
  const page = await client.submit({ fields: { password: NEXT_PASSWORD } })
  assert.match(page.text, /Password changed/)
  assert.match((await signedIn.get('/account')).path, /^\/sign-in/)
  const tell = (password: string) => client.post('/sign-in', { email, password })
  assert.equal((await tell(TEST_PASSWORD)).status, 401)
  assert.equal((await tell(NEXT_PASSWORD)).path, '/workspaces')
  await client.get(link)
  const again = await client.submit({ fields: { password: 'a third password' } })
  assert.equal(again.status, 400)
  assert.equal((await tell('a third password')).status, 401)
})

it('lets only one of several concurrent resets by one link succeed', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  await requestLink(service, '/forgot', email)
  const token = new URL(findEmailedLink(service.mails, email, '/reset'), service.url).searchParams
  const attempts = Array.from({ length: 6 }, (_, index) =>
    new PageClient(service.url).post('/reset', {
      token: token.get('token') ?? '',
      password: `${NEXT_PASSWORD} ${index}`,
    }),
  )
  const statuses = (await Promise.all(attempts)).map(({ status }) => status)
  assert.equal(statuses.filter(status => status === 200).length, 1, String(statuses))
  assert.equal(statuses.filter(status => status === 400).length, 5, String(statuses))
})

it('returns 400 for an expired link, and 422 leaves the link valid', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  await requestLink(service, '/forgot', email)
  const client = new PageClient(service.url)
  await client.get(findEmailedLink(service.mails, email, '/reset'))
  assert.equal((await client.submit({ fields: { password: 'short' } })).status, 422)
  await ageLinks(service)
  assert.equal((await client.submit({ fields: { password: NEXT_PASSWORD } })).status, 400)
})

it('signs in once by a sign-in link, by its button and not by opening it', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  await requestLink(service, '/magic', email)
  const link = findEmailedLink(service.mails, email, '/magic')
  const scanner = new PageClient(service.url)
  for (let round = 0; round < 3; round += 1) await scanner.get(link)
  assert.equal(scanner.cookies.size, 0)
  const client = new PageClient(service.url)
  await client.get(link)
  assert.equal((await client.submit()).path, '/workspaces')
  await scanner.get(link)
  assert.equal((await scanner.submit()).status, 400)
})

it('expires sign-in links, and creates no account by one', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  await requestLink(service, '/magic', email)
  await ageLinks(service)
  const client = new PageClient(service.url)
  await client.get(findEmailedLink(service.mails, email, '/magic'))
  assert.equal((await client.submit()).status, 400)
  await requestLink(service, '/magic', 'nobody@people.example')
  assert.equal(service.mails.length, 1)
})

it('stores links in a form that does not open an account', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  await requestLink(service, '/forgot', email)
  await requestLink(service, '/magic', email)
  const { rows } = await service.database.pool.query('select * from people.verifications')
  assert.equal(rows.length, 2)
  const stored = JSON.stringify(rows)
  for (const path of ['/reset', '/magic']) {
    const { searchParams } = new URL(findEmailedLink(service.mails, email, path), service.url)
    const token = searchParams.get('token') ?? ''
    assert.ok(token.length >= 24)
    assert.ok(!stored.includes(token), path)
    assert.ok(!service.logged().includes(token), path)
  }
})

it('verifies the address of an unverified account by a password reset', async test => {
  const service = await startTestService(test)
  const email = 'late@people.example'
  const attacker = new PageClient(service.url)
  await attacker.post('/sign-up', { name: 'Not them', email, password: TEST_PASSWORD })
  await requestLink(service, '/forgot', email)
  const owner = new PageClient(service.url)
  await owner.get(findEmailedLink(service.mails, email, '/reset'))
  await owner.submit({ fields: { password: NEXT_PASSWORD } })
  assert.equal((await owner.post('/sign-in', { email, password: NEXT_PASSWORD })).status, 200)
  assert.equal((await attacker.post('/sign-in', { email, password: TEST_PASSWORD })).status, 401)
})

it('returns 400 for a forged verification link', async test => {
  const service = await startTestService(test)
  const email = 'forged@people.example'
  const client = new PageClient(service.url)
  await client.post('/sign-up', { name: 'Mallory', email, password: TEST_PASSWORD })
  const real = new URL(findEmailedLink(service.mails, email, '/verify'), service.url)
  const [head, , signature] = (real.searchParams.get('token') ?? '').split('.')
  const claim = Buffer.from(JSON.stringify({ email, exp: 9_999_999_999 })).toString('base64url')
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  for (const token of [`${head}.${claim}.${signature}`, `${none}.${claim}.`, 'x', 'a.b.c']) {
    for (const password of [TEST_PASSWORD, 'a wrong password']) {
      const page = await client.post('/verify', { token, password })
      assert.equal(page.status, 400, token)
    }
  }
})

it('counts no attempt on an account for a forged verification link', async test => {
  const limits = { signInRatePerMinute: 1_000 }
  const service = await startTestService(test, { limits, monotonicSeconds: () => 0 })
  const email = 'forged@people.example'
  const client = new PageClient(service.url)
  await client.post('/sign-up', { name: 'Mallory', email, password: TEST_PASSWORD })
  const claim = Buffer.from(JSON.stringify({ email, exp: 9_999_999_999 })).toString('base64url')
  const head = Buffer.from('{"alg":"HS256"}').toString('base64url')
  for (let count = 0; count < 15; count += 1) {
    const page = await client.post('/verify', { token: `${head}.${claim}.AAAA`, password: 'guess' })
    assert.equal(page.status, 400)
  }
  await client.get(findEmailedLink(service.mails, email, '/verify'))
  assert.equal((await client.submit({ fields: { password: TEST_PASSWORD } })).status, 200)
})
