import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setUpAuthenticatorApp } from '../../../testing/fixtures/authenticator-app.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { signInByGitHub, standInForGitHub } from '../../../testing/fixtures/social-sign-in.ts'
import { createTestUser, findEmailedLink, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'

const client = { clientId: 'our-id', clientSecret: 'our-secret' }

it('offers only the configured providers', async test => {
  const without = await startTestService(test)
  const withGoogle = await startTestService(test, { social: { google: client } })
  const page = async (url: string) => new PageClient(url).get('/sign-in')
  assert.doesNotMatch((await page(without.url)).text, /Google|GitHub/)
  const offered = await page(withGoogle.url)
  assert.match(offered.text, /Continue with Google/)
  assert.doesNotMatch(offered.text, /GitHub/)
  assert.match(
    offered.headers.get('content-security-policy') ?? '',
    /form-action 'self' https:\/\/accounts\.google\.com;/,
  )
  const other = await new PageClient(withGoogle.url).post('/sign-in/social', {
    provider: 'github',
  })
  assert.equal(other.status, 404)
})

it('redirects to the provider with state, PKCE and our callback URL', async test => {
  const publicOrigin = 'https://signalbox.example'
  const service = await startTestService(test, { social: { google: client }, publicOrigin })
  const response = await fetch(`${service.url}/sign-in/social`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: publicOrigin, 'x-forwarded-host': 'evil.example' },
    body: new URLSearchParams({ provider: 'google', return_to: '//evil.example' }),
  })
  assert.equal(response.status, 303)
  const url = new URL(response.headers.get('location') ?? '')
  assert.equal(url.origin, 'https://accounts.google.com')
  assert.equal(
    url.searchParams.get('redirect_uri'),
    'https://signalbox.example/auth/callback/google',
  )
  assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
  assert.ok((url.searchParams.get('state') ?? '').length > 20)
  assert.doesNotMatch(url.href, /evil|our-secret/)
  const [state] = response.headers.getSetCookie()
  assert.match(state ?? '', /^__Secure-signalbox\..*HttpOnly.*SameSite=Lax/)
})

it('rejects a callback without the state of this browser and keeps the session', async test => {
  const service = await startTestService(test, { social: { google: client } })
  const { client: browser } = await createTestUser(service)
  const attacker = new PageClient(service.url)
  await attacker.post('/sign-in/social', { provider: 'google' })
  const state = new URL(attacker.page?.redirects.at(-1) ?? '').searchParams.get('state')
  for (const query of [`code=x&state=${state}`, 'code=x&state=made-up', 'code=x', 'error=denied']) {
    const page = await browser.get(`/auth/callback/google?${query}`)
    assert.match(page.redirects.join(' '), /\/sign-in/, query)
    assert.equal((await browser.get('/account')).path, '/account', query)
  }
  assert.deepEqual([...new PageClient(service.url).cookies], [])
})

it('signs in by GitHub and returns to the requested page', async test => {
  const service = await startTestService(test, { social: { github: client } })
  standInForGitHub(test, { id: 7, email: 'ada@people.example', isVerified: true })
  const browser = await signInByGitHub(service)
  assert.deepEqual([browser.page?.status, browser.page?.path], [200, '/account'])
  assert.match(browser.page?.text ?? '', /ada&#64;people|ada@people/)
  assert.ok(!browser.cookies.has('signalbox.session_token'), 'one session, one cookie')
  const { rows } = await service.database.pool.query('select * from people.accounts')
  assert.equal(rows.length, 1)
  assert.doesNotMatch(JSON.stringify(rows), /token-of-github/)
  const again = await signInByGitHub(service)
  assert.equal(again.page?.path, '/account')
  const people = await service.database.pool.query('select id from people.users')
  assert.equal(people.rows.length, 1)
})

it('does not sign in with an address that GitHub has not verified', async test => {
  const service = await startTestService(test, { social: { github: client } })
  standInForGitHub(test, { id: 7, email: 'victim@people.example', isVerified: false })
  const browser = await signInByGitHub(service)
  assert.equal(browser.page?.path, '/forgot')
  assert.match((await browser.get('/account')).path, /^\/sign-in/)
  const { rows } = await service.database.pool.query('select * from people.sessions')
  assert.deepEqual(rows, [])
})

it('unlinks a provider account that was linked before the address was verified', async test => {
  const service = await startTestService(test, { social: { github: client } })
  const email = 'victim@people.example'
  standInForGitHub(test, { id: 7, email, isVerified: false })
  await signInByGitHub(service)
  const owner = new PageClient(service.url)
  await owner.post('/forgot', { email })
  await owner.get(findEmailedLink(service.mails, email, '/reset'))
  await owner.submit({ fields: { password: TEST_PASSWORD } })
  const page = await owner.post('/sign-in', { email, password: TEST_PASSWORD })
  assert.equal(page.path, '/workspaces')
  const { rows } = await service.database.pool.query('select provider_id from people.accounts')
  assert.deepEqual(rows, [{ provider_id: 'credential' }])
})

it('does not link a provider to an account with an unverified address', async test => {
  const service = await startTestService(test, { social: { github: client } })
  const email = 'ada@people.example'
  const attacker = new PageClient(service.url)
  await attacker.post('/sign-up', { name: 'Not Ada', email, password: TEST_PASSWORD })
  standInForGitHub(test, { id: 7, email, isVerified: true })
  const browser = await signInByGitHub(service)
  assert.match((await browser.get('/account')).path, /^\/sign-in/)
  assert.equal((await attacker.post('/sign-in', { email, password: TEST_PASSWORD })).status, 401)
})

it('asks for a code after a sign-in by a provider and returns to the requested page', async test => {
  const service = await startTestService(test, { social: { github: client } })
  const { client: owner, email } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(owner)
  standInForGitHub(test, { id: 7, email, isVerified: true })
  const browser = await signInByGitHub(service)
  assert.match(browser.page?.path ?? '', /^\/sign-in\/second-factor/)
  assert.match((await browser.get('/workspaces')).path, /^\/sign-in\?/)
  await browser.get('/sign-in/second-factor?return_to=/account')
  assert.equal((await browser.submit({ fields: { code: app.code(1) } })).path, '/account')
})
