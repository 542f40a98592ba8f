import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import { newChromiumPage } from '../../../clients/browser/testing/chromium-page.ts'
import { findAccessibilityViolations } from '../../../clients/browser/testing/chromium-under-test.ts'
import { signInWithPassword } from '../../../testing/fixtures/mobile-page.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'

interface Authenticator {
  devtools: CDPSession
  id: string
}

/** A security key of the browser itself, which verifies its user unless told otherwise. */
async function addAuthenticator(page: Page): Promise<Authenticator> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId: id } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { devtools, id }
}

async function signInByPassword(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/sign-in?return_to=/account`)
  await signInWithPassword(page, email)
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
}

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Add passkey' }).click()
}

/** A user in Chromium who has one passkey and is signed in. */
async function startWithPasskey(test: TestContext) {
  const service = await startTestService(test, { hostName: 'localhost' })
  const { email, userId } = await createTestUser(service)
  const page = await newChromiumPage(test)
  const authenticator = await addAuthenticator(page)
  await signInByPassword(page, service.url, email)
  await addPasskey(page, 'Laptop')
  await page.getByText('Passkey added.').waitFor()
  return { service, email, userId, page, authenticator }
}

async function signInByPasskey(page: Page, service: TestService): Promise<void> {
  await page.goto(`${service.url}/sign-in?return_to=/account`)
  await page.getByRole('link', { name: 'Use a passkey' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

it('adds a passkey, signs in by it alone and removes it', async test => {
  const { service, email, page } = await startWithPasskey(test)
  assert.deepEqual(await findAccessibilityViolations(page), [])
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  await page.getByText('You are signed out').waitFor()
  await page.getByRole('link', { name: 'Use a passkey' }).click()
  await page.getByRole('button', { name: 'Continue' }).waitFor()
  assert.deepEqual(await findAccessibilityViolations(page), [])
  await signInByPasskey(page, service)
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
  assert.match((await page.textContent('header')) ?? '', new RegExp(email))
  await page.getByRole('button', { name: 'Remove: Laptop' }).click()
  await page.getByText('Passkey removed.').waitFor()
  const subjects = service.mails.map(({ text }) => /a passkey was (\w+)/.exec(text)?.[1])
  assert.deepEqual(subjects, ['added', 'removed'])
  await page.context().clearCookies()
  await signInByPasskey(page, service)
  await page.getByText('This passkey is not known here').waitFor()
})

it('refuses a passkey whose device did not verify its user', async test => {
  const { service, page, authenticator } = await startWithPasskey(test)
  const { devtools, id } = authenticator
  await page.context().clearCookies()
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId: id, isUserVerified: false })
  await signInByPasskey(page, service)
  await page.getByText('The passkey was not used.').waitFor()
  // A page that asks for less gets an answer, but the service does not accept it.
  await page.evaluate(`{
    const { dataset } = document.querySelector('form[data-passkey]')
    const options = { ...JSON.parse(dataset.options), userVerification: 'discouraged' }
    dataset.options = JSON.stringify(options)
  }`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('This passkey is not known here').waitFor()
})

it('accepts each challenge once', async test => {
  const { service, page } = await startWithPasskey(test)
  await page.context().clearCookies()
  const sent: { body: string; cookie: string }[] = []
  await page.route('**/sign-in/passkey', async route => {
    const request = route.request()
    if (request.method() === 'POST') {
      const cookie = (await request.allHeaders()).cookie ?? ''
      sent.push({ body: request.postData() ?? '', cookie })
    }
    await route.continue()
  })
  await signInByPasskey(page, service)
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
  const [{ body, cookie } = { body: '', cookie: '' }] = sent
  assert.match(cookie, /passkey_challenge/)
  const replayed = await fetch(`${service.url}/sign-in/passkey`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin: service.url, 'content-type': 'application/x-www-form-urlencoded' },
    body,
  })
  assert.equal(replayed.status, 401)
})

it('confirms the identity of a person by their passkey, not by their password', async test => {
  const { service, page, email } = await startWithPasskey(test)
  service.clock.advance(15 * 60)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await page.getByRole('link', { name: 'Confirm your identity' }).click()
  assert.equal(await page.getByLabel('Password').count(), 0)
  await page.getByRole('link', { name: 'Use a passkey' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Add a passkey' }).waitFor()
  const thief = new PageClient(service.url)
  await thief.post('/sign-in', { email, password: TEST_PASSWORD })
  const refused = await thief.post('/account/confirm', { password: TEST_PASSWORD })
  assert.equal(refused.status, 422)
  assert.equal((await thief.get('/account/authenticator')).status, 403)
})

it('offers no passkeys where the address of the service is an IP address', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  assert.doesNotMatch((await client.get('/account')).text, /Add a passkey/)
  assert.match((await client.get('/account')).text, /not an IP address/)
  assert.doesNotMatch((await new PageClient(service.url).get('/sign-in')).text, /passkey/)
})

it('returns 401 or 422 for a made-up passkey', async test => {
  const service = await startTestService(test, { hostName: 'localhost' })
  const { client } = await createTestUser(service)
  const bodies = ['', '{', '[]', '{}', '{"id":1}', '{"id":"x"}', '{"id":"x","response":{}}']
  for (const response of bodies) {
    const visitor = new PageClient(service.url)
    await visitor.get('/sign-in/passkey')
    const page = await visitor.post('/sign-in/passkey', { response })
    assert.equal(page.status, 401, response)
    await client.get('/account/passkeys/new')
    const added = await client.post('/account/passkeys', { response, name: 'x' })
    assert.equal(added.status, 422, response)
  }
})
