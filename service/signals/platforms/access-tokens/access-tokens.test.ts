import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { it, type TestContext } from 'node:test'
import { jwtVerify } from 'jose'
import { createTestAuditTrail } from '../../../../testing/fixtures/audit.ts'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import {
  connectScripted,
  failure,
  type ScriptedPlatform,
  startScriptedPlatform,
} from '../../../../testing/fixtures/scripted-platform.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { TestClock } from '../../../../testing/fixtures/test-clock.ts'
import { setCredential } from '../../delivery/credential-store.ts'
import { describeCredentialProblem, parseCredentialInput } from '../credentials.ts'
import { AccessTokens } from './client.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const PRIVATE_KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const KEY_FILE = JSON.stringify({
  type: 'service_account',
  project_id: 'project-1',
  private_key_id: 'key-1',
  private_key: PRIVATE_KEY,
  client_email: 'robot@project-1.example',
  token_uri: 'http://127.0.0.1:9/elsewhere',
})
const REFRESH_TOKEN = refreshToken('refresh-token-of-a-person')
const KINDS = ['service_account_key', 'refresh_token'] as const

function refreshToken(token: string): string {
  const client = { client_id: 'client-1', client_secret: 'secret-of-the-client' }
  return JSON.stringify({ kind: 'refresh_token', ...client, refresh_token: token })
}

function respond(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, headers).end(JSON.stringify(body))
}

/** Mints `minted-1`, `minted-2`, ... and keeps what was asked. */
function mintTokens(scripted: ScriptedPlatform, expiresIn = 3_600): URLSearchParams[] {
  const asked: URLSearchParams[] = []
  scripted.onTokenRequest = (form, response) => {
    asked.push(form)
    respond(response, 200, { access_token: `minted-${asked.length}`, expires_in: expiresIn })
  }
  return asked
}

async function startTokens(test: TestContext) {
  const scripted = await startScriptedPlatform(test, { credentialKinds: KINDS })
  const clock = new TestClock()
  const tokens = new AccessTokens({ now: clock.now, timeoutMilliseconds: 1_000 })
  const find = async (text: string) => {
    const result = await tokens.find(scripted.platform, text)
    return result.kind === 'token' ? result.accessToken : result.answer
  }
  return { scripted, clock, tokens, find }
}

it('signs a JWT for the endpoint of the platform, whatever the key file names', async test => {
  const { scripted, clock, find } = await startTokens(test)
  const [asked, url] = [mintTokens(scripted), `${scripted.url}/token`]
  assert.equal(await find(KEY_FILE), 'minted-1')
  const [form] = asked
  assert.equal(form?.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  const { payload, protectedHeader } = await jwtVerify(
    form?.get('assertion') ?? '',
    createPublicKey(PRIVATE_KEY),
    { audience: url, issuer: 'robot@project-1.example', currentDate: clock.now() },
  )
  assert.equal(payload.scope, 'scope-of-scripted')
  assert.deepEqual(protectedHeader, { alg: 'RS256', typ: 'JWT', kid: 'key-1' })
})

it('uses a token until five minutes before it expires', async test => {
  const { scripted, clock, find } = await startTokens(test)
  const asked = mintTokens(scripted)
  assert.equal(await find(REFRESH_TOKEN), 'minted-1')
  clock.advance(3_299)
  assert.equal(await find(REFRESH_TOKEN), 'minted-1')
  clock.advance(1)
  assert.equal(await find(REFRESH_TOKEN), 'minted-2')
  assert.deepEqual(Object.fromEntries(asked[0] ?? []), {
    grant_type: 'refresh_token',
    client_id: 'client-1',
    client_secret: 'secret-of-the-client',
    refresh_token: 'refresh-token-of-a-person',
  })
})

it('mints once for requests at the same time, and for each credential', async test => {
  const { scripted, find } = await startTokens(test)
  const asked = mintTokens(scripted)
  const same = await Promise.all(Array.from({ length: 20 }, () => find(REFRESH_TOKEN)))
  assert.deepEqual(new Set(same), new Set(['minted-1']))
  assert.equal(await find(refreshToken('another')), 'minted-2')
  assert.equal(asked.length, 2)
})

it('classifies what the endpoint answers, without repeating it', async test => {
  const { scripted, find } = await startTokens(test)
  const secret = 'refresh-token-of-a-person'
  const cases: [number, unknown, string, RegExp][] = [
    [
      400,
      { error: 'invalid_grant', error_description: secret },
      'auth',
      /\(invalid_grant, HTTP 400/,
    ],
    [401, { error: 'invalid_client' }, 'auth', /invalid_client/],
    [403, secret, 'auth', /no reason given, HTTP 403/],
    [429, {}, 'throttle', /too many requests/],
    [503, {}, 'retry', /HTTP 503/],
    [200, { access_token: 5 }, 'retry', /without a token/],
    [200, { access_token: 'with space' }, 'retry', /without a token/],
    [302, {}, 'retry', /HTTP 302/],
  ]
  for (const [status, body, outcome, message] of cases) {
    scripted.onTokenRequest = (_, response) => respond(response, status, body, { 'retry-after': 7 })
    const answer = await find(REFRESH_TOKEN)
    assert.ok(typeof answer !== 'string')
    assert.equal(answer.outcome, outcome, String(status))
    assert.match(answer.error?.message ?? '', message)
    if (outcome === 'throttle') assert.equal(answer.waitSeconds, 7)
    assert.ok(!JSON.stringify(answer).includes(secret))
  }
  const unreachable = { ...scripted.platform, tokenGrant: { url: 'http://127.0.0.1:9', scope: '' } }
  const tokens = new AccessTokens({ now: () => new Date(), timeoutMilliseconds: 1_000 })
  const result = await tokens.find(unreachable, REFRESH_TOKEN)
  assert.ok(result.kind === 'no_token' && result.answer.outcome === 'retry')
})

it('does not take a key that is none, or a kind that the platform does not take', async test => {
  const { scripted, find } = await startTokens(test)
  mintTokens(scripted)
  const badKey = JSON.stringify({ ...JSON.parse(KEY_FILE), private_key: 'hidden-key' })
  for (const text of [badKey, 'a-bearer-token', '{}', '{"type":"service_account"}', '{']) {
    const answer = await find(text)
    assert.ok(typeof answer !== 'string')
    assert.equal(answer.outcome, 'auth', text)
    assert.ok(!JSON.stringify(answer).includes('hidden-key'))
  }
})

it('takes no key at entry that cannot sign, and does not repeat it', () => {
  const platform = {
    credentialForms: KINDS.map(kind => ({ kind, label: 'credential', hint: 'See the console.' })),
  }
  const pem = (type: 'pkcs1' | 'pkcs8', bits: number) =>
    generateKeyPairSync('rsa', { modulusLength: bits })
      .privateKey.export({ type, format: 'pem' })
      .toString()
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const withKey = (key: string) => JSON.stringify({ ...JSON.parse(KEY_FILE), private_key: key })
  for (const [name, key] of Object.entries({
    'no PEM': 'hidden-key-'.repeat(8),
    'a broken PEM': PRIVATE_KEY.replace(/\n.{60}/, '\nbroken'),
    'line breaks as two characters': PRIVATE_KEY.replaceAll('\n', '\\n'),
    '1024 bits': pem('pkcs8', 1_024),
    PKCS1: pem('pkcs1', 2_048),
    'a curve': curve.export({ type: 'pkcs8', format: 'pem' }).toString(),
    'the public key': createPublicKey(privateKey)
      .export({ type: 'spki', format: 'pem' })
      .toString(),
  })) {
    const text = withKey(key)
    const read = parseCredentialInput(platform, text)
    assert.ok('problem' in read, name)
    const said = `${read.problem} ${describeCredentialProblem(platform, text)}`
    assert.match(said, /2048 bits/)
    assert.ok(!said.includes(key.slice(-60, -30)), name)
  }
  const text = withKey(PRIVATE_KEY)
  assert.deepEqual(parseCredentialInput(platform, ` ${text}\n`), { text })
})

it('delivers with minted tokens, pauses when they are refused, and leaks nothing', async test => {
  const scripted = await startScriptedPlatform(test, { credentialKinds: KINDS })
  const asked = mintTokens(scripted)
  const service = await startTestService(test, { morePlatforms: [scripted.platform] })
  const destinationId = await connectScripted(service, REFRESH_TOKEN)
  const submit = (id: string) => service.submit(samplePurchase({ event_id: id }))
  await submit('event-1')
  await service.deliver()
  assert.equal(scripted.requests[0]?.authorization, 'Bearer minted-1')

  // The platform revokes the token early: the next request brings a new one.
  scripted.script.push(() => ({ outcome: 'auth', error: failure('auth', 'Expired.') }))
  await submit('event-2')
  await service.deliver()
  service.clock.advance(61)
  await service.deliver()
  assert.equal(scripted.requests.at(-1)?.authorization, 'Bearer minted-2')
  assert.equal((await statusOf(service, 'event-2', destinationId)).status, 'accepted')

  scripted.onTokenRequest = (_, response) => respond(response, 400, { error: 'invalid_grant' })
  service.clock.advance(3_600)
  await submit('event-3')
  await service.deliver()
  const waiting = await statusOf(service, 'event-3', destinationId)
  assert.equal(waiting.status, 'queued')
  assert.match(await pauseReasonOf(service, destinationId), /invalid_grant/)
  assert.equal(scripted.requests.length, 3, 'nothing is sent without a token')

  mintTokens(scripted)
  await replaceCredential(service, destinationId, refreshToken('the-new-refresh-token'))
  await service.deliver()
  assert.equal((await statusOf(service, 'event-3', destinationId)).status, 'accepted')
  assert.equal(asked.length, 2)

  const told = (await readStoredText(service.database)) + service.logged()
  const secrets = ['minted-1', 'minted-2', 'secret-of-the-client', 'refresh-token-of-a-person']
  for (const secret of [...secrets, 'the-new-refresh-token']) {
    assert.ok(!told.includes(secret), secret)
  }
})

it('retries while the token endpoint is unavailable', async test => {
  const scripted = await startScriptedPlatform(test, { credentialKinds: KINDS })
  scripted.onTokenRequest = (_, response) => respond(response, 503, {})
  const service = await startTestService(test, { morePlatforms: [scripted.platform] })
  const destinationId = await connectScripted(service, KEY_FILE)
  await service.submit(samplePurchase({ event_id: 'event-1' }))
  await service.deliver()
  const waiting = await statusOf(service, 'event-1', destinationId)
  assert.equal(waiting.status, 'retrying')
  assert.match(waiting.last_error.message, /HTTP 503/)
  mintTokens(scripted)
  service.clock.advance(60)
  await service.deliver()
  assert.equal((await statusOf(service, 'event-1', destinationId)).status, 'accepted')
})

async function statusOf({ read }: TestService, eventId: string, destinationId: string) {
  const { body } = await read(eventId)
  return body.deliveries.find((it: Record<string, unknown>) => it.destination_id === destinationId)
}

async function pauseReasonOf({ database }: TestService, id: string): Promise<string> {
  const text = 'select status_reason as reason from destinations where id = $1::uuid'
  const { rows } = await database.pool.query(text, [id])
  return rows[0].reason
}

async function replaceCredential(service: TestService, destinationId: string, text: string) {
  const { database, delivery, tracker, clock } = service
  const { workspaceId, trackerId } = tracker
  const actor = { type: 'operator', id: null } as const
  const audit = createTestAuditTrail(service)
  await setCredential({ database, audit }, delivery.credentialKeys, {
    workspaceId,
    trackerId,
    destinationId,
    accessToken: text,
    actor,
    config: {},
    at: clock.now(),
  })
}
