import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { openMobilePage, signInWithPassword } from '../../../testing/fixtures/mobile-page.ts'
import {
  checkTokenAccess,
  createDeviceClient,
  createOauthAgent,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { addAdAccount } from '../../../testing/fixtures/users.ts'

/** The browser has its own clock, by which cookies expire. */
const NOW = { startAt: new Date().toISOString() }

it('signs in, chooses an ad account and approves on a phone', async test => {
  const fixture = await startOauthFixture(test, NOW)
  await addAdAccount(fixture.service, fixture.workspace.workspaceId, 'Shop US')
  const redirectUri = await callbackServer(test)
  const clientId = await fixture.register([redirectUri], 'Reporting assistant')
  const agent = await createOauthAgent(fixture, { clientId, redirectUri })
  const { page, assertAccessible: look } = await openMobilePage(test)

  await page.goto((await agent.authorizationUrl()).href)
  await signInWithPassword(page, fixture.workspace.owner.email)
  await page.getByRole('heading', { name: 'Connect “Reporting assistant”?' }).waitFor()
  await look()
  await page.getByText('Not verified.').waitFor()
  await page.getByText('The access ends after 90 days.').waitFor()
  assert.equal(await page.getByRole('radio', { checked: true }).count(), 0)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Choose the ad account that this agent may access.').first().waitFor()
  await look()
  await page.getByLabel('Shop US').check()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Back at the agent').waitFor()
  const { access_token: token } = await agent.exchange(new URL(page.url()))
  assert.equal((await checkTokenAccess(fixture, token)).mcp, 200)
})

it('returns to the agent without access after a denial', async test => {
  const fixture = await startOauthFixture(test, NOW)
  const redirectUri = await callbackServer(test)
  const clientId = await fixture.register([redirectUri])
  const agent = await createOauthAgent(fixture, { clientId, redirectUri })
  const { page } = await openMobilePage(test)
  await page.goto((await agent.authorizationUrl()).href)
  await signInWithPassword(page, fixture.workspace.owner.email)
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByText('Back at the agent').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied')
})

it('connects a device by keyboard alone', async test => {
  const fixture = await startOauthFixture(test, NOW)
  const form = { client_id: await createDeviceClient(fixture) }
  const { body } = await fixture.send('/oauth2/device/code', { form })
  const { page, assertAccessible: look } = await openMobilePage(test)
  await page.goto(body.verification_uri)
  await signInWithPassword(page, fixture.workspace.owner.email)
  await page.getByLabel('Code on the device').fill('BBBBBBBB')
  await page.keyboard.press('Enter')
  await page.getByText('Code not found').waitFor()
  await look()
  await page.getByLabel('Code on the device').fill(body.user_code)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Is this the code on your device?' }).waitFor()
  await look()
  await page.getByRole('button', { name: 'Yes, it matches' }).press('Enter')
  await page.getByRole('heading', { name: 'Connect “Terminal”?' }).waitFor()
  await look()
  await page.getByRole('button', { name: 'Approve' }).press('Enter')
  await page.getByRole('heading', { name: 'Device connected' }).waitFor()
  await look()
})

it('keeps the error page accessible in light and dark', async test => {
  const fixture = await startOauthFixture(test, NOW)
  const { page, assertAccessible: look } = await openMobilePage(test)
  await page.goto(`${fixture.service.url}/oauth2/authorize`)
  await page.getByRole('heading', { name: 'Connection failed' }).waitFor()
  await look()
})

/** A phone, and a check for accessibility violations and horizontal overflow. */
/** The redirect URI of the agent. */
async function callbackServer(test: TestContext): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<title>Agent</title>Back at the agent')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
}
