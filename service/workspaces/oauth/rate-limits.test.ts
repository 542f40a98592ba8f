import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  createDeviceClient,
  createOauthAgent,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'

const STILL = { steadySeconds: () => 0 }

it('returns 429 as an OAuth error with Retry-After at the token endpoints', async test => {
  const fixture = await startOauthFixture(test, { limits: { oauthRatePerMinute: 2 }, ...STILL })
  const statuses: number[] = []
  for (const path of ['/oauth2/token', '/oauth2/revoke', '/oauth2/device/code']) {
    const reply = await fixture.send(path, { form: { grant_type: 'x' } })
    statuses.push(reply.status)
    if (reply.status !== 429) continue
    assert.deepEqual(Object.keys(reply.body), ['error', 'error_description'])
    assert.equal(reply.body.error, 'temporarily_unavailable')
    assert.match(reply.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.equal(reply.headers.get('access-control-allow-origin'), '*')
    assert.match(reply.headers.get('request-id') ?? '', /^req_/)
  }
  assert.deepEqual(statuses, [400, 400, 429])
})

it('returns a 429 page after too many device codes from one address', async test => {
  const fixture = await startOauthFixture(test, { limits: { userCodeRatePerMinute: 3 }, ...STILL })
  const { client: browser } = fixture.workspace.owner
  for (const code of ['BBBB-BBBB', 'CCCC-CCCC', 'DDDD-DDDD']) {
    await browser.get('/oauth2/device')
    assert.equal((await browser.submit({ fields: { user_code: code } })).status, 200)
  }
  await browser.get('/oauth2/device')
  const page = await browser.submit({ fields: { user_code: 'FFFF-FFFF' } })
  assert.equal(page.status, 429)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(page.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.match(page.text, /Too many codes from this address/)
})

it('returns a 429 page after too many attempts with one code from any address', async test => {
  const fixture = await startOauthFixture(test, {
    limits: { userCodeRatePerMinute: 3 },
    trustedProxies: '127.0.0.1',
    monotonicSeconds: () => 0,
  })
  const clientId = await createDeviceClient(fixture)
  const form = { client_id: clientId, scope: 'mcp:use' }
  const { body } = await fixture.send('/oauth2/device/code', { form })
  const statuses: number[] = []
  for (const index of [1, 2, 3, 4]) {
    const { client } = (await createTestWorkspace(fixture.service)).owner
    const page = await client.get('/oauth2/device')
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page.text) ?? []
    const headers = { 'x-forwarded-for': `192.0.2.${index}` }
    const fields = { xsrf, user_code: body.user_code }
    const entered = await client.post('/oauth2/device', fields, headers)
    statuses.push(entered.status)
    if (entered.status !== 429) continue
    assert.match(entered.text, /This code was entered too often/)
    assert.match(entered.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  }
  assert.deepEqual(statuses, [200, 200, 200, 429])
})

it('returns a 429 page after too many codes of one person from many addresses', async test => {
  const fixture = await startOauthFixture(test, {
    limits: { userCodeRatePerMinute: 3 },
    trustedProxies: '127.0.0.1',
    monotonicSeconds: () => 0,
  })
  const { client } = fixture.workspace.owner
  const statuses: number[] = []
  for (const index of [1, 2, 3, 4]) {
    const page = await client.get('/oauth2/device')
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page.text) ?? []
    const headers = { 'x-forwarded-for': `192.0.2.${index}` }
    const fields = { xsrf, user_code: `BBBB-BBB${'BCDF'[index - 1]}` }
    statuses.push((await client.post('/oauth2/device', fields, headers)).status)
  }
  assert.deepEqual(statuses, [200, 200, 200, 429])
})

it('returns a 429 page after too many authorization requests', async test => {
  const fixture = await startOauthFixture(test, { limits: { oauthRatePerMinute: 1 }, ...STILL })
  const { client: browser } = fixture.workspace.owner
  assert.equal((await browser.get('/oauth2/authorize')).status, 400)
  const page = await browser.get('/oauth2/authorize')
  assert.equal(page.status, 429)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(page.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
})

it('returns 400 invalid_request for missing parameters, and never a page to a program', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const clientId = agent.client.client_id
  for (const [form, error] of [
    [{}, 'invalid_request'],
    [{ client_id: clientId }, 'invalid_request'],
    [{ client_id: clientId, grant_type: 'authorization_code' }, 'invalid_request'],
    [{ client_id: clientId, grant_type: 'refresh_token' }, 'invalid_request'],
    [{ client_id: clientId, grant_type: 'password' }, 'unsupported_grant_type'],
    [{ client_id: clientId, grant_type: 'refresh_token', refresh_token: 'x' }, 'invalid_grant'],
  ] as [Record<string, string>, string][]) {
    const reply = await fixture.send('/oauth2/token', { form, headers: { accept: 'text/html' } })
    assert.equal(reply.status, 400, reply.text)
    assert.equal(reply.body.error, error)
    assert.equal(typeof reply.body.error_description, 'string')
  }
  const unknown = await fixture.send('/oauth2/token', { form: { client_id: 'unknown' } })
  assert.equal(unknown.status, 401)
  assert.equal(unknown.body.error, 'invalid_client')
  const json = await fixture.send('/oauth2/token', { json: { grant_type: 'authorization_code' } })
  assert.equal(json.status, 400)
  assert.equal(json.body.error, 'invalid_request')
})
