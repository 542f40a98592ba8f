import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setUpAuthenticatorApp } from '../../../../testing/fixtures/authenticator-app.ts'
import {
  goThroughProvider,
  signInByProvider,
  startOpenidProvider,
} from '../../../../testing/fixtures/openid-provider.ts'
import { PageClient } from '../../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../../testing/fixtures/service.ts'
import { TestClock } from '../../../../testing/fixtures/test-clock.ts'
import type { TestSettings } from '../../../../testing/fixtures/test-settings.ts'
import { createTestUser, TEST_PASSWORD } from '../../../../testing/fixtures/users.ts'
import { toIdentity } from './client.ts'

const ADA = { sub: 'u-1', email: 'ada@shop.example', email_verified: true, name: 'Ada' }
const MINUTE_SECONDS = 60

async function startWithProvider(test: TestContext, settings: TestSettings = {}) {
  // Of the provider until the service has its own, which begins at the same time.
  let { now } = new TestClock()
  const provider = await startOpenidProvider(test, { now: () => now(), person: ADA })
  const oidc = { issuer: provider.issuer, domains: ['shop.example'] }
  const service = await startTestService(test, { oidc, ...settings })
  now = service.clock.now
  return { provider, service }
}

async function rowsOf(service: Awaited<ReturnType<typeof startTestService>>, sql: string) {
  return (await service.database.pool.query(sql)).rows
}

it('offers the provider only when one is set', async test => {
  const without = await startTestService(test)
  assert.doesNotMatch((await new PageClient(without.url).get('/sign-in')).text, /Shop ID/)
  assert.equal((await fetch(`${without.url}/sign-in/oidc`)).status, 404)
  const { service } = await startWithProvider(test)
  const page = await new PageClient(service.url).get('/sign-in?return_to=%2Faccount')
  assert.match(
    page.text,
    /href="\/sign-in\/oidc\?return_to(=|&#61;)%2Faccount">Sign in with Shop ID/,
  )
})

it('sends the browser to the provider with state, nonce and PKCE', async test => {
  const { service, provider } = await startWithProvider(test)
  const browser = new PageClient(service.url)
  await browser.get('/sign-in/oidc?return_to=//evil.example')
  const url = new URL(browser.page?.redirects[0] ?? '')
  assert.equal(`${url.origin}${url.pathname}`, `${provider.issuer}/authorize`)
  const { searchParams: query } = url
  assert.equal(query.get('redirect_uri'), `${service.url}/auth/callback/oidc`)
  assert.equal(query.get('code_challenge_method'), 'S256')
  assert.equal(query.get('scope'), 'openid email profile')
  for (const name of ['state', 'nonce', 'code_challenge']) {
    assert.ok((query.get(name) ?? '').length >= 43, name)
  }
  assert.doesNotMatch(url.href, /evil|secret-of/)
})

it('creates an account without a workspace at the first sign-in, and finds it later', async test => {
  const { service, provider } = await startWithProvider(test)
  const browser = await signInByProvider(service)
  assert.deepEqual([browser.page?.status, browser.page?.path], [200, '/account'])
  provider.person = { ...ADA, email: 'ada.new@shop.example' }
  assert.equal((await signInByProvider(service)).page?.path, '/account')
  const users = await rowsOf(service, 'select email, name, email_verified from people.users')
  assert.deepEqual(users, [{ email: ADA.email, name: 'Ada', email_verified: true }])
  assert.deepEqual(await rowsOf(service, 'select * from members'), [])
  const [account] = await rowsOf(service, 'select * from people.accounts')
  assert.equal(account.account_id, `${provider.issuer} u-1`)
  assert.equal(account.id_token ?? account.access_token, null)
})

it('follows the sign-up policy for new accounts', async test => {
  const signUp = { mode: 'closed', domains: [] } as const
  const { service } = await startWithProvider(test, { signUp })
  const browser = await signInByProvider(service)
  assert.match(browser.page?.text ?? '', /does not let this address create an account/)
  assert.deepEqual(await rowsOf(service, 'select * from people.users'), [])
})

it('links an account with a confirmed address, and tells its owner', async test => {
  const { service, provider } = await startWithProvider(test)
  const { email, userId } = await createTestUser(service, { email: ADA.email })
  const browser = await signInByProvider(service)
  assert.equal(browser.page?.path, '/account')
  const linked = await rowsOf(
    service,
    `select user_id from people.accounts where provider_id = 'oidc'`,
  )
  assert.deepEqual(linked, [{ user_id: userId }])
  const mail = service.mails.find(({ to }) => to === email)
  assert.match(mail?.text ?? '', /sign-in with Shop ID was linked to your account/)
  const events = await rowsOf(service, 'select type, user_id from security_events order by id')
  assert.deepEqual(events[0], { type: 'provider.linked', user_id: userId })
  await signInByProvider(service)
  assert.equal(service.mails.filter(({ text }) => /was linked/.test(text)).length, 1)
  provider.person = { ...ADA, sub: 'u-2' }
  const next = await signInByProvider(service)
  assert.match(next.page?.text ?? '', /belongs to another identity of the provider/)
})

it('does not link an account whose address was never confirmed', async test => {
  const { service } = await startWithProvider(test)
  const attacker = new PageClient(service.url)
  await attacker.post('/sign-up', { name: 'Not Ada', email: ADA.email, password: TEST_PASSWORD })
  const browser = await signInByProvider(service)
  assert.match(browser.page?.text ?? '', /has an account, but never confirmed it/)
  assert.deepEqual(await rowsOf(service, 'select * from people.sessions'), [])
})

it('refuses addresses that are unverified or of another domain, also once linked', async test => {
  const { service, provider } = await startWithProvider(test)
  await signInByProvider(service)
  const refused: [object, RegExp][] = [
    [{ email_verified: false }, /does not say that your address is verified/],
    [{ email_verified: undefined }, /does not say that your address is verified/],
    [{ email: 'not an address' }, /does not say that your address is verified/],
    [{ email: 'ada@evil.example' }, /this domain may not sign in/],
    [{ email: 'ada@sub.shop.example' }, /this domain may not sign in/],
    [{ email: 'ada@evil.example@shop.example' }, /address is verified/],
  ]
  for (const [change, sentence] of refused) {
    provider.person = { ...ADA, ...change }
    const browser = await signInByProvider(service)
    assert.match(browser.page?.text ?? '', sentence, JSON.stringify(change))
    assert.match((await browser.get('/account')).path, /^\/sign-in/)
  }
})

it('refuses ID tokens that are not for this sign-in', async test => {
  const { service, provider } = await startWithProvider(test)
  const forged: Record<string, unknown>[] = [
    { iss: 'https://other.example' },
    { aud: 'another-client' },
    { nonce: 'of-another-sign-in' },
    { exp: 1 },
    { sub: undefined },
  ]
  for (const claims of forged) {
    provider.claims = claims
    const browser = await signInByProvider(service)
    assert.match(
      browser.page?.text ?? '',
      /Sign-in with the provider failed/,
      Object.keys(claims)[0],
    )
  }
  provider.claims = {}
  provider.signsWithOtherKey = true
  assert.match((await signInByProvider(service)).page?.path ?? '', /^\/sign-in/)
  assert.deepEqual(await rowsOf(service, 'select * from people.users'), [])
  assert.match(service.logged(), /"reason":"oauth_jwt_claim_comparison_failed"/)
  assert.doesNotMatch(service.logged(), /ada@shop|token-of-shop|secret-of/)
})

it('refuses metadata of another issuer', async test => {
  const { service, provider } = await startWithProvider(test)
  provider.metadata = { issuer: 'https://other.example' }
  const browser = new PageClient(service.url)
  await browser.get('/sign-in/oidc')
  assert.match(browser.page?.text ?? '', /Sign-in with the provider failed/)
  assert.equal(provider.requests.length, 0)
})

it('accepts an answer only in the browser that asked, and once', async test => {
  const { service } = await startWithProvider(test)
  const { client: victim } = await createTestUser(service)
  const attacker = new PageClient(service.url)
  await attacker.get('/sign-in/oidc')
  const answer = await fetch(attacker.page?.redirects.at(-1) ?? '', { redirect: 'manual' })
  const callback = (answer.headers.get('location') ?? '').replace(service.url, '')
  assert.match((await victim.get(callback)).redirects.join(' '), /done=provider_refused/)
  await victim.get('/sign-in/oidc')
  assert.equal((await victim.get('/account')).path, '/account', 'the session is kept')
  const { cookieHeader } = attacker
  assert.equal((await attacker.get(callback)).path, '/workspaces')
  const replay = await fetch(`${service.url}${callback}`, {
    redirect: 'manual',
    headers: { cookie: cookieHeader },
  })
  assert.match(replay.headers.get('location') ?? '', /provider_refused/)
})

it('asks before it signs a person in for another site', async test => {
  const { service, provider } = await startWithProvider(test)
  const page = await new PageClient(service.url).get('/sign-in/oidc?return_to=%2Faccount', {
    'sec-fetch-site': 'cross-site',
  })
  assert.equal(page.path, '/sign-in?return_to=%2Faccount')
  assert.equal(provider.requests.length, 0)
})

it('asks for a code after a sign-in by the provider', async test => {
  const { service } = await startWithProvider(test)
  const { client } = await createTestUser(service, { email: ADA.email })
  const { app } = await setUpAuthenticatorApp(client)
  const browser = await signInByProvider(service)
  assert.match(browser.page?.path ?? '', /^\/sign-in\/second-factor/)
  await browser.get('/sign-in/second-factor?return_to=/account')
  assert.equal((await browser.submit({ fields: { code: app.code(1) } })).path, '/account')
})

it('counts a silent sign-in as confirmed only since the provider asked', async test => {
  const { service, provider } = await startWithProvider(test)
  const isConfirmed = async (browser: PageClient) =>
    (await browser.call('GET', '/browser/me')).body.is_identity_confirmed
  assert.equal(await isConfirmed(await signInByProvider(service)), false, 'not told')
  provider.signedInAt = service.clock.now()
  assert.equal(await isConfirmed(await signInByProvider(service)), true)
  service.clock.advance(16 * MINUTE_SECONDS)
  assert.equal(await isConfirmed(await signInByProvider(service)), false, '16 minutes ago')
})

it('confirms an identity by a new sign-in at the provider', async test => {
  const { service, provider } = await startWithProvider(test)
  const browser = await signInByProvider(service)
  const page = await browser.get('/account/confirm?return_to=%2Faccount')
  assert.match(page.text, /Sign in\s+with Shop ID again/)
  const before = browser.cookies.get('signalbox_session')
  await goThroughProvider(browser, '/account/confirm/oidc?return_to=%2Faccount')
  assert.equal(browser.page?.path, '/account')
  const [request] = provider.requests.slice(-1)
  assert.deepEqual([request?.get('prompt'), request?.get('max_age')], ['login', '0'])
  assert.equal(request?.get('login_hint'), ADA.email)
  assert.notEqual(browser.cookies.get('signalbox_session'), before)
  assert.equal((await browser.call('GET', '/browser/me')).body.is_identity_confirmed, true)
})

it('confirms nothing when the provider asks nobody, or another person signs in', async test => {
  const { service, provider } = await startWithProvider(test)
  const browser = await signInByProvider(service)
  const refused = async () => {
    await goThroughProvider(browser, '/account/confirm/oidc')
    assert.match(browser.page?.text ?? '', /did not confirm your identity/)
    assert.equal((await browser.call('GET', '/browser/me')).body.is_identity_confirmed, false)
  }
  provider.asksAgain = false
  await refused()
  provider.signedInAt = new Date(service.clock.now().getTime() - 5 * 60_000)
  await refused()
  provider.asksAgain = true
  provider.person = { ...ADA, sub: 'u-9', email: 'bob@shop.example' }
  await refused()
})

it('offers the provider for a confirmation to no one with a second factor of ours', async test => {
  const { service } = await startWithProvider(test)
  const { client } = await createTestUser(service, { email: ADA.email })
  await signInByProvider(service)
  await setUpAuthenticatorApp(client)
  assert.doesNotMatch((await client.get('/account/confirm')).text, /Shop ID/)
  await client.get('/account/confirm/oidc')
  assert.equal(client.page?.path, '/account/confirm')
})

it('reads what Microsoft Entra ID says about an address', () => {
  const claims = { sub: 'x', email: 'ada@shop.example' }
  assert.equal(toIdentity(claims).isEmailVerified, false)
  assert.equal(toIdentity({ ...claims, xms_edov: true }).isEmailVerified, true)
  assert.equal(toIdentity({ ...claims, xms_edov: 'false' }).isEmailVerified, false)
})
