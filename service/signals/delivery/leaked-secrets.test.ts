import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { it, type TestContext } from 'node:test'
import { openDashboardWorkspace } from '../../../testing/fixtures/dashboard.ts'
import { dumpAsText } from '../../../testing/fixtures/database-dump.ts'
import { listen } from '../../../testing/fixtures/listen.ts'
import { startOtlpReceiver } from '../../../testing/fixtures/otlp-receiver.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { isShortRun } from '../../../testing/fixtures/seeded-random.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { provisionDestination } from '../../program/provisioning/provision-tracker.ts'
import { withPlatformTraces } from '../../program/roles/start-delivery.ts'
import { startOpenTelemetry } from '../../runtime/tracing/open-telemetry.ts'
import { createSimulatorPlatforms } from '../platforms/registry.ts'

const PERSON = {
  em: 'jane.roe@people.example',
  ph: '+16505551212',
  client_ip_address: '81.2.69.160',
}
/** So many characters of a secret are searched. */
const MARK_CHARACTERS = 12
const TIMEOUT_MILLISECONDS = 150

/** Every secret that went out or came in, and how a response repeats it. */
class Secrets {
  readonly #all = new Set<string>()

  add(secret: string): string {
    this.#all.add(secret)
    return secret
  }

  /** Which of them a text holds, in any writing or by their first characters. */
  findIn(text: string): string[] {
    const marks = new Map([...this.#all].flatMap(one => writingsOf(one).map(mark => [mark, one])))
    const found = new Set<string>()
    for (let at = 0; at < text.length; at += 1) {
      const secret = marks.get(text.slice(at, at + MARK_CHARACTERS))
      if (secret) found.add(secret)
    }
    return [...found]
  }
}

function writingsOf(secret: string): string[] {
  const [base64, url] = [Buffer.from(secret).toString('base64'), encodeURIComponent(secret)]
  return [secret, base64, url, Buffer.from(secret).toString('hex')].map(text =>
    text.slice(0, MARK_CHARACTERS),
  )
}

/** What a program that is wrong or malicious makes of a request that it refuses. */
function repeat(secret: string): string {
  const base64 = Buffer.from(`Bearer ${secret}`).toString('base64')
  return [secret.slice(0, 14), secret, encodeURIComponent(secret), base64, writingsOf(secret)]
    .flat()
    .join(' ')
}

type Respond = (response: ServerResponse, text: string) => void

/** The members in which platforms answer, with the same text in each. */
function bodyOf(text: string, code: unknown): string {
  const one = { message: text, error_message: text, reason: text, field: text, description: text }
  const error = { ...one, code, status: text, type: text, error_subcode: 1, error_user_msg: text }
  const details = [{ ...one, '@type': text, requestId: text, fieldViolations: [one] }]
  const listed = { codes: [text], error_msgs: [text] }
  return JSON.stringify({
    ...error,
    error: { ...error, error_user_title: text, fbtrace_id: text, details, fields: [one] },
    errors: listed,
    event_logs: [{ errors: listed }],
    details: [{ index: 0, errorCode: text, errorMessage: text }],
    events: [{ status: 'failed', ...one }],
    request_id: text,
    requestId: text,
    traceId: text,
    error_description: text,
  })
}

const jsonWith =
  (status: number, code: unknown): Respond =>
  (response, text) => {
    // As in a header of HTTP: no line breaks.
    const headers = { 'x-fb-trace-id': text, 'request-id': text, 'retry-after': '1' }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(bodyOf(text, code))
  }

const FAILURES: Record<string, Respond> = {
  ...Object.fromEntries(
    [200, 400, 401, 403, 422, 429, 500].map(status => [`HTTP ${status}`, jsonWith(status, 190)]),
  ),
  'HTTP 200 with a text for a code': jsonWith(200, 'invalid'),
  'HTTP 400 with a text for a code': jsonWith(400, 'invalid'),
  redirect: (response, text) =>
    void response
      .writeHead(302, { location: `https://x.example/?t=${encodeURIComponent(text)}` })
      .end(text),
  page: (response, text) => void response.writeHead(502).end(`<p>${text}</p>`),
  'broken JSON': (response, text) => void response.writeHead(200).end(bodyOf(text, 1).slice(0, -9)),
  silence: () => undefined,
  'closed connection': response => void response.socket?.destroy(),
}

const REFUSED_GRANT: Respond = (response, text) =>
  void response.writeHead(400).end(JSON.stringify({ error: text, error_description: text }))
/** A code of small letters, which could be a secret. */
const GRANT_FAILURES: Record<string, Respond> = {
  'refused grant': REFUSED_GRANT,
  'page for a grant': FAILURES.page as Respond,
  'no grant in time': () => undefined,
}

/** Those of `npm test`: a result, an error, no JSON, and no token. */
const SHORT_RUN = new Set(['HTTP 200', 'HTTP 400', 'page', 'refused grant'])

/** Stands for every platform and token endpoint. Repeats the secrets of each request. */
async function startHostile(test: TestContext, secrets: Secrets) {
  const hostile = {
    url: '',
    repeated: '',
    respond: FAILURES.page as Respond,
    grant: null as Respond | null,
  }
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString('utf8')
    if (!request.url?.startsWith('/token')) {
      const repeated = repeat(secretOf(request))
      hostile.repeated += repeated
      hostile.respond(response, repeated)
      return
    }
    const form = new URLSearchParams(body)
    const signature = form.get('assertion')?.split('.')[2]
    const sent = [signature, form.get('refresh_token'), form.get('client_secret')]
    const known = sent.flatMap(one => (one ? [secrets.add(one)] : []))
    if (hostile.grant) return hostile.grant(response, known.map(repeat).join(' '))
    const access_token = secrets.add(`ya29.${randomBytes(48).toString('base64url')}`)
    response.writeHead(200).end(JSON.stringify({ access_token, expires_in: 3_600 }))
  })
  hostile.url = `http://127.0.0.1:${await listen(test, server)}`
  test.after(() => server.closeAllConnections())
  return hostile
}

function secretOf({ headers, url = '' }: IncomingMessage): string {
  const header = headers.authorization?.replace('Bearer ', '') ?? headers['access-token']
  const query = new URL(url, 'http://x').searchParams.get('access_token')
  return [header, query].flat().find(text => text) ?? 'none'
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const PRIVATE_KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** Credentials as each platform takes them, none of which says what it is. */
function createCredentials(secrets: Secrets, kinds: readonly string[]): string[] {
  const secret = (prefix: string) => secrets.add(prefix + randomBytes(30).toString('base64url'))
  return kinds.map(kind => {
    if (kind === 'bearer_token') return secret('EAAB')
    if (kind === 'refresh_token') {
      // Small letters pass for a code of RFC 6749.
      const client_secret = secrets.add(`gocspx_${letters(30)}`)
      const refresh_token = secret('1//0')
      return JSON.stringify({ kind, client_id: 'client-1', client_secret, refresh_token })
    }
    const private_key = PRIVATE_KEY
    for (const line of private_key.split('\n').slice(3, -2)) secrets.add(line)
    const client_email = 'events@project-1.iam.gserviceaccount.com'
    return JSON.stringify({
      type: 'service_account',
      project_id: 'project-1',
      client_email,
      private_key,
    })
  })
}

function letters(count: number): string {
  return [...randomBytes(count)].map(byte => String.fromCharCode(97 + (byte % 26))).join('')
}

/** A tracker with a destination at each platform, one for each kind of credential. */
async function connectAll(service: TestService, secrets: Secrets) {
  const tracker = await service.newTracker()
  const { trackerId } = tracker
  const destinations: string[] = [tracker.destinationId]
  for (const platform of service.delivery.platforms.all) {
    const { config, credential } = platform.createSimulatorDestination()
    const isWebhook = platform.name === 'webhook'
    const kinds = platform.credentialForms.map(({ kind }) => kind)
    const credentials = isWebhook ? [secrets.add(credential)] : createCredentials(secrets, kinds)
    for (const accessToken of credentials) {
      const event_names = platform.conversionTargets ? { Purchase: '123456789' } : undefined
      destinations.push(
        await provisionDestination(service.database, {
          trackerId,
          at: service.clock.now(),
          credentialKeys: service.delivery.credentialKeys,
          connected: { platform: platform.name, config, accessToken },
          ...(event_names && { routing: { event_names } }),
        }),
      )
    }
  }
  return { tracker, destinations }
}

/** What a person or a program can read of a tracker. */
async function readEverything(
  service: TestService,
  tracker: TestService['tracker'],
  ids: string[],
) {
  const secret = tracker.trackerSecret
  const get = async (path: string) => (await service.request('GET', path, { secret })).text
  const { owner, path } = await openDashboardWorkspace(service, tracker)
  const page = async (suffix: string) =>
    JSON.stringify((await owner.client.call('GET', `${path}/${suffix}`)).body)
  return Promise.all([
    ...ids.map(id => get(`/api/v1/events/${id}`)),
    get('/api/v1/dashboard/events'),
    page('destinations'),
    page('issues'),
    page('events'),
    ...ids.map(id => page(`events/${id}`)),
  ])
}

it('no failure of a platform brings a secret into what is stored, shown, logged or exported', async test => {
  const secrets = new Secrets()
  const receiver = await startOtlpReceiver(test)
  const tracer = startOpenTelemetry({
    url: `${receiver.url}/v1/traces`,
    headers: { 'api-key': secrets.add('otlp-header-secret-1') },
    serviceName: 'signalbox',
    serviceVersion: '0.0.0',
    role: 'test',
    sampledShare: 1,
    onError: message => assert.fail(message),
  })
  test.after(() => tracer.close())
  const service = await startTestService(test, { tracer })
  const hostile = await startHostile(test, secrets)
  const platforms = createSimulatorPlatforms({
    simulatorUrl: hostile.url,
    timeoutMilliseconds: TIMEOUT_MILLISECONDS,
    now: service.clock.now,
  })
  service.delivery.platforms = withPlatformTraces(tracer, platforms)
  const shown: string[] = []
  const cases = Object.entries(FAILURES).map(([name, respond]) => ({ name, respond, grant: null }))
  const grants = Object.entries(GRANT_FAILURES).map(([name, grant]) => {
    return { name, respond: FAILURES.page as Respond, grant }
  })
  const chosen = [...cases, ...grants].filter(({ name }) => !isShortRun() || SHORT_RUN.has(name))
  for (const [index, { name, respond, grant }] of chosen.entries()) {
    hostile.respond = respond
    hostile.grant = grant
    const { tracker, destinations } = await connectAll(service, secrets)
    secrets.add(tracker.trackerSecret)
    const body = samplePurchase({ event_id: `failure-${index}`, user_data: PERSON })
    const { trackerSecret: secret } = tracker
    const reply = await service.request('POST', '/api/v1/events', { secret, body })
    assert.equal(reply.status, 202, reply.text)
    // Platforms without an entry for this event have none to send.
    assert.ok((await service.deliver()) >= 10, name)
    for (const id of destinations.slice(1)) {
      const path = `/api/v1/destinations/${id}/test-purchase`
      shown.push((await service.request('POST', path, { secret })).text)
    }
    shown.push(...(await readEverything(service, tracker, [`failure-${index}`])))
  }
  await tracer.close()
  const exported = receiver.bodies.join('')
  const places = {
    store: await dumpAsText(service.database),
    log: service.logged(),
    spans: exported,
    answers: shown.join('\n'),
  }
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 10_000, place)
    assert.deepEqual(secrets.findIn(text), [], place)
  }
  assert.ok(secrets.findIn(hostile.repeated).length > 6 * chosen.length)
  assert.match(places.answers, /\[redacted\]/)
  assert.match(exported, /signalbox\.platform_trace_id/)
  for (const value of Object.values(PERSON)) {
    for (const place of [exported, places.log]) {
      assert.ok(!place.includes(value) && !place.includes(encodeURIComponent(value)), value)
    }
  }
})
