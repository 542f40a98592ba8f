import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  checkTokenAccess,
  createDeviceClient,
  type OauthFixture,
  startOauthFixture,
  submitDecision,
} from '../../../testing/fixtures/oauth.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

interface Device {
  clientId: string
  deviceCode: string
  userCode: string
}

it('issues tokens to a device after a person enters and approves its code', async test => {
  const fixture = await startOauthFixture(test)
  const { adAccountId, owner } = fixture.workspace
  const clientId = await createDeviceClient(fixture)
  const { status, body } = await begin(fixture, clientId)
  assert.equal(status, 200)
  const { device_code: deviceCode, user_code: userCode, ...rest } = body
  assert.deepEqual(rest, {
    verification_uri: `${fixture.service.url}/oauth2/device`,
    verification_uri_complete: `${fixture.service.url}/oauth2/device?user_code=${userCode}`,
    expires_in: 600,
    interval: 5,
  })
  assert.match(userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  const device = { clientId, deviceCode, userCode }
  assert.equal((await poll(fixture, device)).body.error, 'authorization_pending')
  const page = await typeCode(fixture, userCode.toLowerCase().replace('-', ' '))
  assert.match(page.text, /Redirects to/)
  const after = await owner.client.submit({
    fields: { ad_account_id: String(adAccountId), decision: 'approve' },
  })
  assert.equal(after.status, 200)
  assert.match(after.text, /Device connected/)
  fixture.advance(5)
  const tokens = await poll(fixture, device)
  assert.equal(tokens.status, 200, tokens.text)
  assert.equal(tokens.body.scope, 'mcp:use')
  assert.ok(tokens.body.refresh_token)
  assert.equal((await checkTokenAccess(fixture, tokens.body.access_token)).mcp, 200)
  assert.equal((await poll(fixture, device)).body.error, 'invalid_grant')
  assert.equal((await checkTokenAccess(fixture, tokens.body.access_token)).mcp, 401)
})

it('returns access_denied when a person denies a device, before or on the consent page', async test => {
  const fixture = await startOauthFixture(test)
  const { client: browser } = fixture.workspace.owner
  const first = await newDevice(fixture)
  await browser.get('/oauth2/device')
  await browser.submit({ fields: { user_code: first.userCode } })
  const refused = await browser.submit({ button: ['abort', 'yes'] })
  assert.match(refused.text, /You denied this device access/)
  assert.equal((await poll(fixture, first)).body.error, 'access_denied')

  const second = await newDevice(fixture)
  await typeCode(fixture, second.userCode)
  const denied = await submitDecision(browser, { decision: 'deny' })
  assert.match(denied.pathname, /^\/oauth2\/device\//)
  assert.equal((await poll(fixture, second)).body.error, 'access_denied')
})

it('returns slow_down to a device that polls too often, with a growing interval', async test => {
  const fixture = await startOauthFixture(test)
  const device = await newDevice(fixture)
  const errors: string[] = []
  for (const seconds of [0, 4, 9, 15, 14, 20]) {
    fixture.advance(seconds)
    errors.push((await poll(fixture, device)).body.error)
  }
  const [inTime, early] = ['authorization_pending', 'slow_down']
  // The interval is 5, 10, then 15 seconds, and 20 after another early poll.
  assert.deepEqual(errors, [inTime, early, early, inTime, early, inTime])
})

it('expires the device code and its user code after ten minutes', async test => {
  const fixture = await startOauthFixture(test)
  const device = await newDevice(fixture)
  fixture.advance(600)
  assert.equal((await poll(fixture, device)).body.error, 'expired_token')
  const { client: browser } = fixture.workspace.owner
  await browser.get('/oauth2/device')
  const page = await browser.submit({ fields: { user_code: device.userCode } })
  assert.match(page.text, /This code has expired/)
})

it('accepts a user code once and rejects a wrong one', async test => {
  const fixture = await startOauthFixture(test)
  const { client: browser } = fixture.workspace.owner
  const device = await newDevice(fixture)
  await typeCode(fixture, device.userCode)
  await submitDecision(browser, {
    ad_account_id: String(fixture.workspace.adAccountId),
    decision: 'approve',
  })
  await browser.get('/oauth2/device')
  const again = await browser.submit({ fields: { user_code: device.userCode } })
  assert.match(again.text, /This code was already used/)
  await browser.get('/oauth2/device')
  const wrong = await browser.submit({ fields: { user_code: 'BBBB-BBBB' } })
  assert.match(wrong.text, /Code not found/)
  await browser.get('/oauth2/device')
  const empty = await browser.submit({ fields: { user_code: '' } })
  assert.match(empty.text, /Enter the code that the device shows/)
})

it('prefills the form from a link without submitting it', async test => {
  const fixture = await startOauthFixture(test)
  const { client: browser } = fixture.workspace.owner
  const { userCode } = await newDevice(fixture)
  const page = await browser.get(`/oauth2/device?user_code=${userCode}`)
  assert.equal(page.status, 200)
  assert.match(page.text, new RegExp(`value="${userCode}"`))
  assert.equal(page.text.includes('<script'), false)
  const confirm = await browser.submit()
  assert.match(confirm.text, /Is this the code on your device/)
})

it('redirects to sign in and back to the code', async test => {
  const fixture = await startOauthFixture(test)
  const reply = await fetch(`${fixture.service.url}/oauth2/device?user_code=BBBB-CCCC`, {
    redirect: 'manual',
  })
  assert.equal(reply.status, 303)
  const location = new URL(reply.headers.get('location') ?? '', fixture.service.url)
  assert.equal(location.searchParams.get('return_to'), '/oauth2/device?user_code=BBBB-CCCC')
})

it('returns 400 for a self-registered client at the device endpoint, and a device at the code grant', async test => {
  const fixture = await startOauthFixture(test)
  const registered = await begin(fixture, await fixture.register())
  assert.equal(registered.status, 400)
  assert.match(registered.body.error, /^(unauthorized_client|invalid_request)$/)
  const unknown = await begin(fixture, 'unknown')
  assert.equal(unknown.status, 401)
  assert.equal(unknown.body.error, 'invalid_client')
  const clientId = await createDeviceClient(fixture)
  const form = { grant_type: 'authorization_code', client_id: clientId, code: 'x' }
  const code = await fixture.send('/oauth2/token', { form: { ...form, redirect_uri: 'x' } })
  assert.equal(code.status, 400)
})

async function newDevice(fixture: OauthFixture): Promise<Device> {
  const clientId = await createDeviceClient(fixture)
  const { body } = await begin(fixture, clientId)
  return { clientId, deviceCode: body.device_code, userCode: body.user_code }
}

function begin(fixture: OauthFixture, clientId: string) {
  return fixture.send('/oauth2/device/code', { form: { client_id: clientId, scope: 'mcp:use' } })
}

function poll(fixture: OauthFixture, { clientId, deviceCode }: Device) {
  const form = { grant_type: GRANT, client_id: clientId, device_code: deviceCode }
  return fixture.send('/oauth2/token', { form })
}

/** Enters and confirms a code, which opens the consent page. */
async function typeCode({ workspace }: OauthFixture, userCode: string) {
  const { client: browser } = workspace.owner
  await browser.get('/oauth2/device')
  const confirm = await browser.submit({ fields: { user_code: userCode } })
  assert.match(confirm.text, /Is this the code on your device/, confirm.text)
  const page = await browser.submit({ button: ['confirm', 'yes'] })
  assert.equal(page.status, 200, page.text)
  return page
}
