import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createMcpFixture, MCP_HEADERS } from '../../../testing/fixtures/mcp.ts'
import { sendRawBytes, sendRawRequest } from '../../../testing/fixtures/raw-http.ts'
import { type Reply, startTestService } from '../../../testing/fixtures/service.ts'
import { generateToken } from '../../runtime/util/token-format.ts'
import { sessionCookieName } from '../../workspaces/users/session-token.ts'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }

it('returns 401 with the metadata URL for an invalid credential', async test => {
  const { service, tokens, send } = await createMcpFixture(await startTestService(test))
  const { trackerSecret, publishableKey, forwardingSecret } = service.tracker
  const { body: sandbox } = await service.request('GET', '/api/v1/sandbox/keys', { secret: null })
  const session = tokens.workspace.owner.client.cookies.get(sessionCookieName(service.url)) ?? ''
  const credentials = {
    trackerSecret,
    publishableKey,
    forwardingSecret,
    sandbox: sandbox.api_key,
    unknownToken: generateToken('execution'),
    session,
    garbage: 'garbage',
    management: tokens.management,
    none: null,
  }
  for (const [kind, token] of Object.entries(credentials)) {
    const reply = await send(PING, { token })
    assert.equal(reply.status, 401, kind)
    assert.deepEqual(reply.body, {
      error: 'invalid_token',
      error_description: 'Unauthenticated.',
    })
    const metadata = `${service.url}/.well-known/oauth-protected-resource/mcp`
    const error = token === null ? '' : ' error="invalid_token",'
    assert.equal(
      reply.headers.get('www-authenticate'),
      `Bearer resource_metadata="${metadata}",${error} scope="mcp:use"`,
    )
  }
  const cookie = `${sessionCookieName(service.url)}=${session}`
  assert.equal((await send(PING, { token: null, headers: { cookie } })).status, 401)
  for (const token of [tokens.mcp, tokens.execution]) {
    assert.equal((await send(PING, { token })).status, 200)
  }
})

it('returns 401 immediately after the connection or token is revoked', async test => {
  const {
    service,
    tokens,
    request: ask,
    send,
  } = await createMcpFixture(await startTestService(test))
  const tables = { [tokens.mcp]: 'agent_connections', [tokens.execution]: 'execution_tokens' }
  for (const [token, table] of Object.entries(tables)) {
    assert.equal((await ask('tools/list', {}, { token })).status, 200)
    await service.database.pool.query(`update ${table} set revoked_at = $1`, [service.clock.now()])
    assert.equal((await send(PING, { token })).status, 401)
  }
})

it('returns 403 for a foreign Host or Origin, before authentication', async test => {
  const { service, tokens } = await createMcpFixture(await startTestService(test))
  const { port } = new URL(service.url)
  const ask = (headers: Record<string, string>) =>
    sendRawRequest(service, {
      method: 'POST',
      path: '/mcp',
      headers: { ...MCP_HEADERS, ...headers },
    })
  for (const headers of [
    { host: 'evil.example' },
    { host: `evil.example:${port}` },
    { host: '127.0.0.1.evil.example' },
    { host: `127.0.0.1:${port}`, origin: 'https://evil.example' },
    { host: `127.0.0.1:${port}`, origin: 'http://127.0.0.1.evil.example' },
    { host: `127.0.0.1:${port}`, origin: 'null' },
  ]) {
    for (const token of [tokens.mcp, 'garbage']) {
      const reply = await ask({ ...headers, authorization: `Bearer ${token}` })
      assert.equal(reply.status, 403, JSON.stringify(headers))
      assertMessage(reply, -32_000, /\.$/)
    }
  }
  for (const headers of [
    { host: `localhost:${port}` },
    { host: `[::1]:${port}`, origin: 'http://localhost:6274' },
    { host: `127.0.0.1:${port}`, origin: service.url },
  ]) {
    assert.equal((await ask(headers)).status, 401, JSON.stringify(headers))
  }
})

it('returns 403 for loopback names if the public origin is not a loopback address', async test => {
  const publicOrigin = 'https://signalbox.example'
  const { service } = await createMcpFixture(await startTestService(test, { publicOrigin }))
  const ask = (headers: Record<string, string>) =>
    sendRawRequest(service, { method: 'POST', path: '/mcp', headers })
  const local = await ask({})
  assert.equal(local.status, 403)
  assert.match(local.body.error.message, /^This server is at https:\/\/signalbox\.example;/)
  const host = 'signalbox.example'
  assert.equal((await ask({ host, origin: 'http://localhost:6274' })).status, 403)
  assert.equal((await ask({ host, origin: 'http://signalbox.example' })).status, 403)
  assert.equal((await ask({ host, origin: publicOrigin })).status, 401)
  assert.equal((await ask({ host, origin: 'https://chat.example' })).status, 401)
  assert.equal((await ask({ host, origin: 'https://chat.example:8443' })).status, 403)
  assert.equal((await ask({ host })).status, 401)
})

it('returns 405 for GET, DELETE and every other method', async test => {
  const { service, tokens } = await createMcpFixture(await startTestService(test))
  for (const method of ['GET', 'DELETE']) {
    for (const secret of [tokens.mcp, null]) {
      const reply = await service.request(method, '/mcp', { secret, headers: MCP_HEADERS })
      assert.equal(reply.status, 405)
      assert.equal(reply.headers.get('allow'), 'POST, OPTIONS')
      assertMessage(reply, -32_000, /^Use POST here\.$/)
    }
  }
  assert.equal((await service.request('PUT', '/mcp', { secret: tokens.mcp })).status, 405)
})

it('returns 400, 413 and 415 as JSON-RPC errors for an invalid body', async test => {
  const { service, tokens } = await createMcpFixture(await startTestService(test))
  const post = (rawBody: string, headers: Record<string, string> = {}) =>
    service.request('POST', '/mcp', {
      secret: tokens.mcp,
      rawBody,
      headers: { ...MCP_HEADERS, ...headers },
    })
  const named = JSON.stringify({ ...PING, params: { a: 'x'.repeat(262_144) } })
  const twice = '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}'
  for (const [status, code, body, headers] of [
    [400, -32_700, '{'],
    [400, -32_700, ''],
    [400, -32_700, twice],
    [400, -32_700, `${'['.repeat(40)}${']'.repeat(40)}`],
    [400, -32_700, JSON.stringify([PING, PING])],
    [413, -32_600, named],
    [415, -32_600, 'a', { 'content-type': 'text/plain' }],
    [415, -32_600, 'a', { 'content-encoding': 'gzip' }],
  ] as [number, number, string, Record<string, string>?][]) {
    const reply = await post(body, headers)
    assert.equal(reply.status, status, body.slice(0, 60))
    assertMessage(reply, code, /./)
  }
  const large = JSON.stringify({ ...PING, params: { _meta: { a: 'x'.repeat(200_000) } } })
  assert.equal((await post(large)).status, 200)
  assert.equal((await post(JSON.stringify(PING), { accept: 'text/html' })).status, 406)
})

it('accepts clients that accept anything', async test => {
  const { service, tokens } = await createMcpFixture(await startTestService(test))
  const body = JSON.stringify(PING)
  const statusOf = async (accept: string | null) => {
    const lines = [
      'POST /mcp HTTP/1.1',
      `Host: ${new URL(service.url).host}`,
      `Authorization: Bearer ${tokens.mcp}`,
      ...(accept === null ? [] : [`Accept: ${accept}`]),
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ]
    const { text } = await sendRawBytes(service.url, [...lines, '', body].join('\r\n'))
    return Number(text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length))
  }
  for (const accept of ['*/*', 'text/html, */*;q=0.8', 'application/json, */*', '*/* ;q=0.5', null])
    assert.equal(await statusOf(accept), 200, String(accept))
  for (const accept of ['text/html', 'application/json', 'image/*', '*/*;q=0', 'x*/*'])
    assert.equal(await statusOf(accept), 406, accept)
})

it('returns 202 without a body for a notification', async test => {
  const { send } = await createMcpFixture(await startTestService(test))
  const reply = await send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  assert.deepEqual([reply.status, reply.text], [202, ''])
  assert.equal(reply.headers.get('content-type'), null)
})

it('negotiates the newest revision that both sides know', async test => {
  const { request } = await createMcpFixture(await startTestService(test))
  const clientInfo = { name: 'test', version: '1' }
  for (const [requested, negotiated] of [
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    // Without a handshake since 2026-07-28, so that the newest one with a handshake is offered.
    ['2026-07-28', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
  ] as const) {
    const start = { protocolVersion: requested, capabilities: {}, clientInfo }
    const { result } = await request('initialize', start)
    assert.equal(result.protocolVersion, negotiated, requested)
  }
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }
  const { result } = await request('server/discover', { _meta }, { headers })
  assert.equal(result.supportedVersions[0], '2026-07-28')
})

it('returns 200 for every form of the request target', async test => {
  const { service, tokens } = await createMcpFixture(await startTestService(test))
  const { host } = new URL(service.url)
  const body = JSON.stringify(PING)
  for (const target of ['/mcp', '/mcp?a=1', `http://${host}/mcp`, 'http://evil.example/mcp']) {
    const { text } = await sendRawBytes(
      service.url,
      [
        `POST ${target} HTTP/1.1`,
        `Host: ${host}`,
        `Authorization: Bearer ${tokens.mcp}`,
        `Accept: ${MCP_HEADERS.accept}`,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    )
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/, target)
  }
})

it('releases all resources when a caller disconnects', async test => {
  const { service, tokens, send } = await createMcpFixture(await startTestService(test))
  for (let count = 0; count < 5; count += 1) {
    const hangUp = new AbortController()
    const asking = fetch(`${service.url}/mcp`, {
      method: 'POST',
      signal: hangUp.signal,
      headers: { ...MCP_HEADERS, authorization: `Bearer ${tokens.mcp}` },
      body: JSON.stringify(PING),
    })
    hangUp.abort()
    await assert.rejects(asking)
  }
  assert.equal((await send(PING)).status, 200)
  assert.equal(service.logged().includes('"level":"error"'), false)
})

it('returns 429 with Retry-After above the rate limit, without counting preflights', async test => {
  const limits = { agentRatePerMinute: 2 }
  const service = await startTestService(test, { limits, monotonicSeconds: () => 0 })
  const { send } = await createMcpFixture(service)
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await service.request('OPTIONS', '/mcp', { secret: null })).status, 204)
  }
  const statuses: number[] = []
  for (let count = 0; count < 3; count += 1) statuses.push((await send(PING)).status)
  assert.deepEqual(statuses, [200, 200, 429])
  const reply = await send(PING, { token: 'garbage' })
  assert.equal(reply.status, 429)
  assert.match(reply.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assertMessage(reply, -32_000, /^Too many agent requests/)
})

it('keeps the security and CORS headers on every response', async test => {
  const { service, send } = await createMcpFixture(await startTestService(test))
  const replies = {
    stream: await send(PING),
    refused: await send(PING, { token: null }),
    accepted: await send({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    foreign: await send(PING, { headers: { origin: 'https://evil.example' } }),
    read: await service.request('GET', '/mcp', { secret: null }),
    preflight: await service.request('OPTIONS', '/mcp', { secret: null }),
  }
  assert.equal(replies.stream.headers.get('content-type'), 'text/event-stream')
  assert.equal(replies.accepted.status, 202)
  for (const [name, { headers }] of Object.entries(replies)) {
    assert.match(headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/, name)
    assert.equal(headers.get('cache-control'), 'no-store', name)
    assert.equal(headers.get('x-content-type-options'), 'nosniff', name)
    assert.equal(headers.get('access-control-allow-origin'), '*', name)
    assert.equal(headers.get('access-control-allow-credentials'), null, name)
    const exposed = headers.get('access-control-expose-headers') ?? ''
    for (const header of ['WWW-Authenticate', 'MCP-Protocol-Version', 'Request-Id']) {
      assert.ok(exposed.includes(header), `${name}: ${header}`)
    }
  }
  const allowed = replies.preflight.headers.get('access-control-allow-headers') ?? ''
  for (const header of ['Authorization', 'MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name']) {
    assert.ok(allowed.includes(header), header)
  }
})

function assertMessage({ body, headers }: Reply, code: number, message: RegExp): void {
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(body.jsonrpc, '2.0')
  assert.equal(body.error.code, code)
  assert.match(body.error.message, message)
  assert.equal(body.id, null)
}
