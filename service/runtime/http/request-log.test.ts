import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sendRawBytes } from '../../../testing/fixtures/raw-http.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  type Reply,
  type RequestOptions,
  startTestService,
  type TestService,
} from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { generateToken } from '../util/token-format.ts'
import { healthRoutes } from './health-routes.ts'
import { createLogger } from './logger.ts'
import { createServiceApp } from './service-app.ts'

const EVENTS = '/api/v1/events'
const EVENT = `${EVENTS}/:event`

interface Line {
  level: string
  msg: string
  request_id?: string
  status?: number
  reason?: string
  route?: string
  milliseconds?: number
  time?: string
}

/** The log at level `info`. */
function linesOf(log: string): Line[] {
  const lines = log.split('\n').filter(Boolean)
  return lines.map(line => JSON.parse(line) as Line).filter(({ level }) => level !== 'debug')
}

/** A line is written after the response, so it may come later. */
async function lineOf(service: TestService, reply: Pick<Reply, 'headers'>): Promise<Line> {
  const id = reply.headers.get('request-id')
  const found = () => linesOf(service.logged()).filter(({ request_id }) => request_id === id)
  await waitUntil(`the line of ${id} is there`, () => found().length > 0)
  assert.equal(found().length, 1)
  const { time, request_id, milliseconds, ...line } = found()[0] as Line
  assert.ok(Number(milliseconds) >= 0)
  return line
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

type Sent = [method: string, path: string, options?: RequestOptions]
type Logged = [status: number, route: string, reason: string]

const CALLER_ERRORS: [Sent, Logged][] = [
  [
    ['POST', EVENTS, { rawBody: '{' }],
    [400, EVENTS, 'invalid_request'],
  ],
  [
    ['GET', `${EVENTS}/%zz`],
    [400, 'unknown', 'invalid_request'],
  ],
  [
    ['GET', `${EVENTS}/jane@example.com`, { secret: null }],
    [401, EVENT, 'unauthenticated'],
  ],
  [
    ['GET', `${EVENTS}/jane@example.com`],
    [404, EVENT, 'not_found'],
  ],
  [
    ['GET', '/jane@example.com?email=jane@example.com'],
    [404, 'unknown', 'not_found'],
  ],
  [
    ['HEAD', '/nowhere'],
    [404, 'unknown', 'not_found'],
  ],
  [
    ['GET', `${EVENTS}/${'x'.repeat(3_000)}`],
    [404, 'unknown', 'not_found'],
  ],
  [
    ['DELETE', EVENTS],
    [405, 'unknown', 'method_not_allowed'],
  ],
  [
    ['POST', EVENTS, { rawBody: ' '.repeat(65_537) }],
    [413, EVENTS, 'body_too_large'],
  ],
  [
    ['POST', EVENTS, { rawBody: 'a=b', headers: { 'content-type': 'text/plain' } }],
    [415, EVENTS, 'unsupported_media_type'],
  ],
  [
    ['POST', EVENTS, { body: { visitor_id: 'jane@example.com' } }],
    [422, EVENTS, 'invalid_fields'],
  ],
  [
    ['GET', '/mcp', { secret: null }],
    [405, '/mcp', 'method_not_allowed'],
  ],
  [
    ['POST', '/mcp', { secret: null, body: {} }],
    [401, '/mcp', 'unauthenticated'],
  ],
  [
    ['POST', '/sign-in', { secret: null, headers: FORM, rawBody: 'a=b' }],
    [403, '/sign-in', 'forbidden'],
  ],
]

it('logs each refused request in one line at info', async test => {
  const service = await startTestService(test)
  for (const [[method, path, options], [status, route, reason]] of CALLER_ERRORS) {
    const reply = await service.request(method, path, options)
    const expected = { level: 'info', method, route, status, reason, msg: 'request refused' }
    assert.deepEqual(await lineOf(service, reply), expected, `${method} ${path.slice(0, 60)}`)
  }
  const lines = linesOf(service.logged()).filter(({ msg }) => !/^(Server list|audit e)/.test(msg))
  const refused = lines.map(({ msg, level }) => `${level} ${msg}`)
  assert.deepEqual(refused, Array(CALLER_ERRORS.length).fill('info request refused'))
  assert.doesNotMatch(service.logged(), /jane|example\.com/)
  assert.ok(!service.logged().includes(service.tracker.trackerSecret))
})

it('logs the name of the limit that refused a request', async test => {
  const limits = { trackerRatePerSecond: 1, failedAuthRatePerMinute: 1 }
  const service = await startTestService(test, { limits, monotonicSeconds: () => 1_000 })
  for (let count = 0; count < 2; count += 1) await service.read('order-1001')
  const limited = {
    level: 'info',
    method: 'GET',
    route: EVENT,
    status: 429,
    msg: 'request refused',
  }
  const ofTracker = await lineOf(service, await service.read('order-1001'))
  assert.deepEqual(ofTracker, { ...limited, reason: 'rate_limited:tracker' })
  const guess = () =>
    service.request('GET', `${EVENTS}/order-1001`, { secret: generateToken('tracker_secret') })
  assert.equal((await guess()).status, 401)
  const ofAddress = await lineOf(service, await guess())
  assert.deepEqual(ofAddress, { ...limited, reason: 'rate_limited:failed_authentications' })
})

it('logs unavailability at warn and never at error', async test => {
  const clock = { seconds: 1_000 }
  let delaySeconds = 0
  const service = await startTestService(test, {
    ingestQueueMax: 1,
    limits: { eventLoopDelayMillisecondsMax: 100 },
    monotonicSeconds: () => clock.seconds,
    readDelaySeconds: () => delaySeconds,
  })
  const warned = {
    level: 'warn',
    method: 'POST',
    route: EVENTS,
    status: 503,
    msg: 'request refused',
  }

  await service.database.pool.query(
    `create function full_disk() returns trigger language plpgsql as
       $$ begin raise exception 'no space' using errcode = 'disk_full'; end $$;
     create trigger full_disk before insert on events for each row execute function full_disk()`,
  )
  const away = await lineOf(service, await service.submit(samplePurchase()))
  assert.deepEqual(away, { ...warned, reason: 'store_disk_full:53100' })

  const submissions = Array.from({ length: 20 }, (_, order) =>
    service.submit(samplePurchase({ event_id: `order-${order}` })),
  )
  const full = (await Promise.all(submissions)).find(({ body }) => /waiting/.test(body.message))
  assert.ok(full)
  assert.deepEqual(await lineOf(service, full), { ...warned, reason: 'queue_full' })

  delaySeconds = 1
  for (let looks = 0; looks < 2; looks += 1) {
    clock.seconds += 1
    await service.read('order-1001')
  }
  const shed = await lineOf(service, await service.submit(samplePurchase()))
  assert.deepEqual(shed, { ...warned, reason: 'overloaded' })
  // The failing commits are logged as an error once; the refused requests are not.
  const ofRequests = linesOf(service.logged()).filter(({ request_id }) => request_id !== undefined)
  assert.ok(ofRequests.every(({ level }) => level === 'warn' || level === 'info'))
})

it('logs a test purchase that the platform refused at warn', async test => {
  const service = await startTestService(test)
  const destination = `/api/v1/destinations/${service.tracker.destinationId}`
  const body = { enabled: true, test_event_code: 'TEST00007' }
  await service.request('PATCH', `${destination}/test-mode`, { body })
  await service.database.pool.query(`update destinations set sealed_credential = '\\x00'`)
  const reply = await service.request('POST', `${destination}/test-purchase`)
  assert.equal(reply.status, 502, reply.text)
  const { level, status, reason } = await lineOf(service, reply)
  assert.deepEqual(
    { level, status, reason },
    { level: 'warn', status: 502, reason: 'platform_refused' },
  )
})

it('logs a process that is not ready at warn, with the failed checks', async () => {
  const lines: string[] = []
  const app = createServiceApp(createLogger('info', { write: line => void lines.push(line) }))
  const checks = [{ name: 'store', check: () => Promise.reject(new Error('password=hunter2')) }]
  healthRoutes(app, { checks, pauseReason: () => 'start' })
  await app.inject({ url: '/readyz' })
  const [{ level, msg, status, route, reason } = {} as Line, ...more] = linesOf(lines.join(''))
  assert.deepEqual(
    { level, msg, status, route, reason },
    {
      level: 'warn',
      msg: 'request refused',
      status: 503,
      route: '/readyz',
      reason: 'not_ready:store,start',
    },
  )
  assert.deepEqual(more, [])
  assert.ok(!lines.join('').includes('hunter2'))
})

it('logs malformed requests and disconnects in the middle of a request', async test => {
  const service = await startTestService(test)
  const refused = { level: 'info', route: 'unknown', msg: 'request refused' }
  for (const [bytes, status, reason] of [
    ['jane@example.com\r\n\r\n', 400, 'invalid_request'],
    [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'invalid_request'],
  ] as const) {
    const { head } = await sendRawBytes(service.url, bytes)
    const id = /request-id: (\w+)/.exec(head)?.[1]
    const found = linesOf(service.logged()).filter(({ request_id }) => request_id === id)
    assert.deepEqual(
      found.map(({ time, request_id, ...line }) => line),
      [{ ...refused, status, reason }],
      reason,
    )
  }
  assert.doesNotMatch(service.logged(), /jane/)
})

it('logs a bug in one line at error with the thrown error', async () => {
  const lines: string[] = []
  const app = createServiceApp(createLogger('info', { write: line => void lines.push(line) }))
  app.get('/bug', () => {
    throw new TypeError('a bug')
  })
  const { headers } = await app.inject({ url: '/bug' })
  const entries = lines.map(line => JSON.parse(line))
  assert.equal(entries.length, 1)
  const { level, msg, status, route, request_id, err } = entries[0]
  assert.deepEqual(
    { level, msg, status, route, request_id, message: err.message },
    {
      level: 'error',
      msg: 'request failed',
      status: 500,
      route: '/bug',
      request_id: headers['request-id'],
      message: 'a bug',
    },
  )
})
