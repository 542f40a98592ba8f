import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { googleUnderTest, sampleGoogleEvent, sampleIngest } from './google-under-test.ts'

const JWT_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const SCOPE = 'https://www.googleapis.com/auth/datamanager'
const EMAIL = 'sender@shop-project.iam.gserviceaccount.com'
const NOW_SECONDS = SAMPLE_NOW.getTime() / 1_000
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const PUBLIC_PEM = publicKey.export({ type: 'spki', format: 'pem' }).toString()

function assertionOf(claims: Record<string, unknown>, key: KeyObject = privateKey): string {
  const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${segment({ alg: 'RS256', typ: 'JWT' })}.${segment({
    iss: EMAIL,
    scope: SCOPE,
    aud: 'https://oauth2.googleapis.com/token',
    iat: NOW_SECONDS,
    exp: NOW_SECONDS + 3_600,
    ...claims,
  })}`
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`
}

async function withServiceAccount(test: TestContext) {
  const simulator = await googleUnderTest(test)
  const account = { client_email: EMAIL, public_key: PUBLIC_PEM }
  assert.equal((await simulator.google('POST', 'service-accounts', account)).status, 200)
  const grant = (assertion: string) => simulator.requestToken({ grant_type: JWT_GRANT, assertion })
  const ingestWith = (token: string) =>
    simulator.ingest(sampleIngest(sampleGoogleEvent()), { authorization: `Bearer ${token}` })
  return { ...simulator, grant, ingestWith }
}

it('gives a service account a token for an hour', async test => {
  const { grant, ingestWith, advance } = await withServiceAccount(test)
  const { status, body } = await grant(assertionOf({}))
  assert.equal(status, 200)
  assert.deepEqual([body.token_type, body.expires_in], ['Bearer', 3_599])
  assert.equal((await ingestWith(body.access_token)).status, 200)
  advance(3_600)
  const { status: later, body: error } = await ingestWith(body.access_token)
  assert.deepEqual([later, error.error.status], [401, 'UNAUTHENTICATED'])
})

it('refuses assertions that are not signed, for another, or too long', async test => {
  const { grant } = await withServiceAccount(test)
  const other = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
  const bad = [
    assertionOf({}, other),
    assertionOf({ iss: 'another@project.iam.gserviceaccount.com' }),
    assertionOf({ aud: 'https://example.com/token' }),
    assertionOf({ exp: NOW_SECONDS - 1 }),
    assertionOf({ exp: NOW_SECONDS + 7_200 }),
    'a.b.c',
    '',
  ]
  for (const assertion of bad) {
    const { status, body } = await grant(assertion)
    assert.deepEqual([status, body.error], [400, 'invalid_grant'])
  }
  assert.equal((await grant(assertionOf({ scope: undefined }))).body.error, 'invalid_scope')
})

it('refuses a token without the scope of the API', async test => {
  const { grant, ingestWith } = await withServiceAccount(test)
  const { body } = await grant(assertionOf({ scope: 'https://www.googleapis.com/auth/adwords' }))
  const { status, body: error } = await ingestWith(body.access_token)
  assert.equal(status, 403)
  assert.equal(error.error.details[0].reason, 'ACCESS_TOKEN_SCOPE_INSUFFICIENT')
})

it('gives a refresh token an access token until it is revoked', async test => {
  const { requestToken, ingest, control } = await googleUnderTest(test)
  const form = {
    grant_type: 'refresh_token',
    client_id: 'client',
    client_secret: 'secret',
    refresh_token: 'refresh-1',
  }
  const { body } = await requestToken(form)
  const sent = sampleIngest(sampleGoogleEvent())
  assert.equal((await ingest(sent, { authorization: `Bearer ${body.access_token}` })).status, 200)
  await control('POST', 'tokens', { revoked: ['refresh-1'] })
  assert.equal((await requestToken(form)).body.error, 'invalid_grant')
  const noClient = await requestToken({ ...form, client_secret: '' })
  assert.deepEqual([noClient.status, noClient.body.error], [401, 'invalid_client'])
  const other = await requestToken({ grant_type: 'password' })
  assert.equal(other.body.error, 'unsupported_grant_type')
})

it('refuses requests without a token or with a revoked one', async test => {
  const { ingest, control } = await googleUnderTest(test)
  const sent = sampleIngest(sampleGoogleEvent())
  assert.equal((await ingest(sent, { authorization: '' })).status, 401)
  await control('POST', 'tokens', { revoked: ['token-a'] })
  assert.equal((await ingest(sent)).status, 401)
})

it('takes so many requests of a project in a minute', async test => {
  const { ingest, google, advance } = await googleUnderTest(test)
  await google('POST', 'options', { requests_per_minute: 2, requests_per_day: 3 })
  const send = (project: string) =>
    ingest(sampleIngest(sampleGoogleEvent()), { 'x-goog-user-project': project })
  const statuses = []
  for (const project of ['one', 'one', 'one', 'two']) statuses.push((await send(project)).status)
  assert.deepEqual(statuses, [200, 200, 429, 200])
  const { body } = await send('one')
  assert.equal(body.error.status, 'RESOURCE_EXHAUSTED')
  advance(60)
  assert.equal((await send('one')).status, 200)
  assert.equal((await send('one')).status, 429)
})

it('answers other methods with 404, and leaves the paths of the Graph API alone', async test => {
  const { send, ingest } = await googleUnderTest(test)
  assert.equal((await send(undefined, { path: '/v1/events:ingest', method: 'GET' })).status, 404)
  assert.equal((await send({}, { path: '/v1/events:other' })).body.error.code, 2_500)
  assert.equal((await ingest(sampleIngest(sampleGoogleEvent()))).status, 200)
})

it('answers, delays, cuts and drops as fault rules say', async test => {
  const { ingest, google } = await googleUnderTest(test)
  const sent = sampleIngest(sampleGoogleEvent())
  const script = (rule: unknown) => google('POST', 'faults', { rules: [rule] })
  const match = { account: '1234567890', conversion_action: '456', transaction_id: 'order-1' }
  await script({ match, times: 1, respond: { status: 503, headers: { 'Retry-After': '7' } } })
  const { status, headers, body } = await ingest(sent)
  assert.deepEqual([status, headers.get('retry-after')], [503, '7'])
  assert.equal(body.error.status, 'UNAVAILABLE')
  assert.equal((await ingest(sent)).status, 200)

  await script({ match: { account: '9' }, respond: { status: 500 } })
  assert.equal((await ingest(sent)).status, 200)
  await script({ match: { validate_only: true }, respond: { status: 500 } })
  assert.equal((await ingest(sent)).status, 200)
  await script({ headers: { date: 'Sat, 21 Nov 2026 12:00:00 GMT' }, delay_ms: 1 })
  assert.equal((await ingest(sent)).headers.get('date'), 'Sat, 21 Nov 2026 12:00:00 GMT')

  await google('DELETE', 'received')
  await script({ abort: 'before_response' })
  await assert.rejects(ingest(sent))
  assert.equal((await google('GET', 'received')).body.count, 0)
  await script({ abort: 'after_store' })
  await assert.rejects(ingest(sent))
  assert.equal((await google('GET', 'received')).body.count, 1)
  await script({ truncate: 5 })
  await assert.rejects(ingest(sent))
})

it('refuses fault rules that could not fire', async test => {
  const { google } = await googleUnderTest(test)
  for (const rule of [
    {},
    { edge: 'events', respond: { status: 500 } },
    { respond: {} },
    { keep_events: 1 },
    { abort: 'after_store', truncate: 1 },
    { match: { dataset: '1' }, respond: { status: 500 } },
  ]) {
    assert.equal((await google('POST', 'faults', { rules: [rule] })).status, 422)
  }
})
