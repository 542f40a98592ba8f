import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { it } from 'node:test'
import { startOauthFixture } from '../../../testing/fixtures/oauth.ts'

const SERVER = '/.well-known/oauth-authorization-server'
const RESOURCE = '/.well-known/oauth-protected-resource/mcp'
const AGENT = '/.well-known/oauth-protected-resource/api/v1/agent'

it('serves authorization-server metadata with agent_auth', async test => {
  const { send, service } = await startOauthFixture(test)
  const { status, body } = await send(SERVER)
  const { url: origin } = service
  assert.equal(status, 200)
  assert.equal(body.issuer, origin)
  assert.equal(body.authorization_endpoint, `${origin}/oauth2/authorize`)
  assert.equal(body.token_endpoint, `${origin}/oauth2/token`)
  assert.equal(body.registration_endpoint, `${origin}/oauth/register`)
  assert.equal(body.device_authorization_endpoint, `${origin}/oauth2/device/code`)
  assert.equal(body.revocation_endpoint, `${origin}/oauth2/revoke`)
  assert.deepEqual(body.scopes_supported, ['mcp:use', 'ad-account.read'])
  assert.deepEqual(body.code_challenge_methods_supported, ['S256'])
  assert.deepEqual(body.token_endpoint_auth_methods_supported, ['none'])
  assert.equal(body.authorization_response_iss_parameter_supported, true)
  assert.deepEqual(body.agent_auth, {
    skill: `${origin}/auth.md`,
    register_uri: `${origin}/oauth/register`,
    identity_types_supported: ['anonymous'],
    anonymous: { credential_types_supported: ['public_client'] },
    registration_methods_supported: ['public_client'],
    public_client: {
      method: 'POST',
      content_type: 'application/json',
      required: ['client_name', 'redirect_uris'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      scope: 'mcp:use',
      human_approval_required: true,
      credentials_issued: false,
    },
  })
})

it('serves the metadata of each resource, which its 401 names', async test => {
  const { send, service } = await startOauthFixture(test)
  const { url: origin } = service
  for (const [path, resource, scope, call] of [
    [RESOURCE, `${origin}/mcp`, 'mcp:use', { path: '/mcp', method: 'POST' }],
    [
      AGENT,
      `${origin}/api/v1/agent`,
      'ad-account.read',
      { path: '/api/v1/agent/context', method: 'GET' },
    ],
  ] as const) {
    const { status, body } = await send(path)
    assert.equal(status, 200)
    assert.equal(body.resource, resource)
    assert.deepEqual(body.authorization_servers, [origin])
    assert.deepEqual(body.scopes_supported, [scope])
    assert.equal(body.registration_endpoint, `${origin}/oauth/register`)
    assert.equal(body.resource_documentation, `${origin}/auth.md`)
    const refused = await send(call.path, { method: call.method })
    assert.equal(refused.status, 401)
    const challenge = refused.headers.get('www-authenticate')
    assert.equal(challenge, `Bearer resource_metadata="${origin}${path}", scope="${scope}"`)
    const headers = { authorization: 'Bearer unknown' }
    const invalid = await send(call.path, { method: call.method, headers })
    assert.equal(
      invalid.headers.get('www-authenticate'),
      `Bearer resource_metadata="${origin}${path}", error="invalid_token", scope="${scope}"`,
    )
  }
})

it('names only endpoints that exist', async test => {
  const { send } = await startOauthFixture(test)
  const { body } = await send(SERVER)
  for (const [name, value] of Object.entries(body)) {
    if (!name.endsWith('_endpoint')) continue
    const { pathname } = new URL(String(value))
    const method = name === 'authorization_endpoint' ? 'GET' : 'POST'
    const reply = await send(pathname, { method })
    assert.ok(reply.status < 500 && ![404, 405].includes(reply.status), `${name} ${reply.status}`)
  }
})

it('uses the public origin with any Host, scheme or request target', async test => {
  const { service } = await startOauthFixture(test)
  const { port } = new URL(service.url)
  for (const path of [SERVER, RESOURCE, AGENT, '/auth.md', '/llms.txt']) {
    for (const [target, host] of [
      [path, 'evil.example'],
      [`http://evil.example${path}`, 'evil.example'],
    ]) {
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-Host: evil.example\r\n` +
          'Forwarded: host=evil.example\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n',
      )
      const answer = await textOf(socket)
      assert.match(answer, /^HTTP\/1.1 200 OK\r\n/, target)
      assert.equal(answer.includes('evil.example'), false, target)
      assert.ok(answer.includes(service.url), target)
    }
  }
})

it('allows pages of any origin to read the documents and call the token endpoint', async test => {
  const { send } = await startOauthFixture(test)
  const headers = { origin: 'https://agent.example', 'access-control-request-method': 'POST' }
  for (const path of [SERVER, RESOURCE, AGENT]) {
    const read = await send(path, { headers: { origin: 'https://agent.example' } })
    assert.equal(read.headers.get('access-control-allow-origin'), '*')
    assert.equal(read.headers.get('access-control-allow-credentials'), null)
    const preflight = await send(path, { method: 'OPTIONS', headers })
    assert.equal(preflight.status, 204)
  }
  for (const path of ['/oauth2/token', '/oauth2/revoke', '/oauth2/device/code', '/mcp']) {
    const preflight = await send(path, { method: 'OPTIONS', headers })
    assert.equal(preflight.status, 204, path)
    assert.ok(preflight.headers.get('access-control-allow-origin'), path)
    const asked = await send(path, { form: {}, headers: { origin: 'https://agent.example' } })
    assert.ok(asked.headers.get('access-control-allow-origin'), path)
    assert.equal(asked.headers.get('access-control-allow-credentials'), null)
  }
  const { headers: mcp } = await send('/mcp', { method: 'POST' })
  assert.match(mcp.get('access-control-expose-headers') ?? '', /WWW-Authenticate/)
})
