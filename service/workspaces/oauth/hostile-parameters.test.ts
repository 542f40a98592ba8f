import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  CALLBACK,
  connectAgent,
  createDeviceClient,
  createOauthAgent,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'

const NUL = 'a\0b'
/** PostgreSQL stores neither. */
const HOSTILE = [NUL, '\0', 'a\ud800b']

const PARAMETERS = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'resource'],
  ...['code_challenge', 'code_challenge_method', 'prompt', 'nonce', 'login_hint', 'ui_locales'],
  ...['display', 'max_age', 'acr_values', 'id_token_hint', 'claims', 'request_uri', 'unknown'],
]

it('refuses or ignores NUL in every parameter of an authorization request', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { client } = fixture.workspace.owner
  const cookie = client.cookieHeader
  for (const name of PARAMETERS) {
    for (const value of HOSTILE) {
      const url = await agent.authorizationUrl({ [name]: value })
      for (const headers of [{}, { cookie }]) {
        const reply = await fetch(url, { redirect: 'manual', headers })
        assert.ok(reply.status < 500, `${name} ${JSON.stringify(value)}: ${reply.status}`)
        const location = reply.headers.get('location') ?? ''
        assert.equal(location.includes('server_error'), false, name)
      }
    }
  }
  assert.doesNotMatch(fixture.service.logged(), /the authorization server failed/)
})

it('refuses NUL in every parameter of the other endpoints', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, accessToken, refreshToken } = await connectAgent(fixture)
  const device = await createDeviceClient(fixture)
  const { client_id } = agent.client
  const tokens = {
    client_id,
    refresh_token: 'x',
    scope: 'mcp:use',
    resource: 'x',
    redirect_uri: 'x',
  }
  const forms: [path: string, form: Record<string, string>][] = [
    ['/oauth2/token', { ...tokens, grant_type: 'refresh_token' }],
    [
      '/oauth2/token',
      { ...tokens, grant_type: 'authorization_code', code: 'x', code_verifier: 'x' },
    ],
    [
      '/oauth2/device/code',
      { client_id: device, scope: 'mcp:use', resource: 'x', login_hint: 'x' },
    ],
    ['/oauth2/revoke', { client_id, token: 'x', token_type_hint: 'access_token' }],
  ]
  for (const [path, form] of forms) {
    for (const name of Object.keys(form)) {
      const reply = await fixture.send(path, { form: { ...form, [name]: NUL } })
      assert.ok(reply.status < 500, `${path} ${name}: ${reply.status} ${reply.text}`)
    }
  }
  const registration = { client_name: NUL, redirect_uris: [`${CALLBACK}\0`] }
  assert.equal((await fixture.send('/oauth/register', { json: registration })).status, 400)
  assert.doesNotMatch(fixture.service.logged(), /the authorization server failed/)
  assert.ok(accessToken && (await agent.refresh(refreshToken)).access_token)
})

it('finds no request and no device by an unknown ID or one with NUL', async test => {
  const fixture = await startOauthFixture(test)
  const { client } = fixture.workspace.owner
  for (const path of [
    '/oauth2/interaction/a%00',
    '/oauth2/authorize/a%00',
    '/oauth2/device/a%00',
  ]) {
    const { status } = await client.get(path)
    assert.ok(status < 500, `${path}: ${status}`)
  }
  await client.get('/oauth2/device')
  const page = await client.submit({ fields: { user_code: NUL } })
  assert.match(page.text, /Code not found/)
})
