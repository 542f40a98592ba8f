import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { sessionCookieName } from '../users/session-token.ts'
import { insertClient } from './client-store.ts'

const ORIGIN = 'https://signalbox.example'
const EVIL = {
  host: 'evil.example',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'http',
  forwarded: 'host=evil.example;proto=http',
}

it('sets host-bound, Secure, HttpOnly cookies behind TLS', async test => {
  const { service, clientId } = await behindTls(test)
  const reply = await authorize(service, clientId)
  assert.equal(reply.status, 303, reply.text)
  const cookies = reply.headers['set-cookie'] ?? []
  const names = cookies.map(cookie => cookie.split('=', 1)[0])
  assert.ok(names.includes('__Secure-signalbox_interaction'))
  assert.ok(names.includes('__Secure-signalbox_resume'))
  for (const cookie of cookies) {
    assert.match(cookie, /^__(Secure|Host)-signalbox_/)
    assert.match(cookie, /; secure(;|$)/i)
    assert.match(cookie, /; httponly(;|$)/i)
    assert.match(cookie, /; samesite=lax(;|$)/i)
    assert.doesNotMatch(cookie, /domain=/i)
    if (cookie.startsWith('__Host-')) assert.match(cookie, /; path=\/;/)
  }
})

it('tells browsers to use https only, on every response', async test => {
  const { service, clientId } = await behindTls(test)
  const transport = 'strict-transport-security'
  for (const path of ['/', '/sign-in', '/livez', '/nothing', '/mcp', '/oauth2/device']) {
    const reply = await ask(service, { method: 'GET', path, headers: {} })
    assert.equal(reply.headers[transport], 'max-age=31536000', path)
  }
  const provided = await authorize(service, clientId)
  assert.equal(provided.headers[transport], 'max-age=31536000')
  const local = await startTestService(test)
  const plain = await ask(local, { method: 'GET', path: '/livez', headers: {} })
  assert.equal(plain.headers[transport], undefined)
})

it('never puts another host into a response, by header or request line', async test => {
  const { service, clientId, deviceId } = await behindTls(test)
  const reply = await authorize(service, clientId, EVIL)
  assert.match(reply.headers.location ?? '', /^\/oauth2\/interaction\//)
  assert.equal(JSON.stringify(reply.headers).includes('evil'), false)
  const { rows } = await service.database.pool.query(
    `select payload ->> 'returnTo' as way from oauth_artifacts where model = 'Interaction'`,
  )
  assert.ok(rows.length > 0)
  for (const { way } of rows) assert.equal(way, `${ORIGIN}/oauth2/authorize/{uid}`)

  for (const path of ['/oauth2/device/code', 'http://evil.example/oauth2/device/code']) {
    const device = await ask(service, {
      method: 'POST',
      path,
      headers: { ...EVIL, 'content-type': 'application/x-www-form-urlencoded' },
      body: `client_id=${deviceId}`,
    })
    assert.equal(device.status, 200, device.text)
    assert.equal(JSON.parse(device.text).verification_uri, `${ORIGIN}/oauth2/device`)
    assert.equal(device.text.includes('evil'), false)
  }
})

async function behindTls(test: Parameters<typeof startTestService>[0]) {
  const service = await startTestService(test, { publicOrigin: ORIGIN })
  const [clientId, deviceId] = ['agent', 'device']
  const now = service.clock.now()
  const redirectUris = ['https://agent.example/cb']
  await insertClient(
    service.database,
    { clientId, kind: 'self_registered', name: 'Agent', redirectUris },
    now,
  )
  await insertClient(
    service.database,
    { clientId: deviceId, kind: 'device', name: 'Device', redirectUris: [] },
    now,
  )
  assert.equal(sessionCookieName(ORIGIN), '__Host-signalbox_session')
  return { service, clientId, deviceId }
}

type Service = Awaited<ReturnType<typeof behindTls>>['service']

function authorize(service: Service, clientId: string, headers: Record<string, string> = {}) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'https://agent.example/cb',
    state: 'x',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })
  return ask(service, { method: 'GET', path: `/oauth2/authorize?${query}`, headers })
}

interface Sent {
  method: string
  /** The target of the request line. */
  path: string
  headers: Record<string, string>
  body?: string
}

/** `fetch` always sets Host itself. */
async function ask({ url }: Service, { method, path, headers, body }: Sent) {
  const { hostname, port } = new URL(url)
  const outgoing = request({ hostname, port, method, path, headers, agent: false })
  const answered = once(outgoing, 'response')
  outgoing.end(body)
  const [answer] = (await answered) as [IncomingMessage]
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    text: await textOf(answer),
  }
}
