import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { readSimulatorSummary, scriptFaults } from '../../../../testing/fixtures/simulator.ts'
import type { SendOutcome } from '../platform.ts'
import { metaPlatform } from './client.ts'

const CONNECTION = {
  target: { datasetId: '1234' },
  accessToken: 'token-of-the-test',
  testCode: null,
}
const NOW = new Date('2026-11-21T12:00:00.000Z')
/** Long enough for any response; a test without a response uses a shorter timeout. */
const PATIENT_MILLISECONDS = 30_000
const IMPATIENT_MILLISECONDS = 200

async function simulated(test: TestContext, timeoutMilliseconds = PATIENT_MILLISECONDS) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const platform = metaPlatform({
    baseUrl: url,
    version: 'v26.0',
    timeoutMilliseconds,
    now: () => new Date(),
  })
  const events = ['a', 'b'].map(eventId => sampleOutboundEvent({ eventId }))
  return { url, send: () => platform.send(CONNECTION, events) }
}

interface Failure {
  /** A fault rule of the simulator (graph-simulator/README.md). */
  rule: unknown
  outcome: SendOutcome
  waitSeconds?: number
  message: RegExp
  /** How many of the two events the platform has nevertheless. */
  kept?: number
}

const HTML = '<html><body>Sorry</body></html>'
const DATE = 'Sat, 21 Nov 2026 12:00:00 GMT'
const LATER = 'Sat, 21 Nov 2026 12:02:00 GMT'
const UNREADABLE = /^The platform answered HTTP \d+ without a readable body\.$/
const OTHER_COUNT = /^The platform reports \d events received, not as many as sent\.$/
const BROKEN = /^The connection to the platform broke \(/

function answering(status: number, body: string, headers = {}) {
  return { respond: { status, body, headers } }
}

/** Each fault and its expected outcome. Two events are sent. */
const FAILURES: Record<string, Failure> = {
  'an HTML page with 502': {
    rule: answering(502, HTML),
    outcome: 'unknown',
    message: UNREADABLE,
  },
  'an HTML page with 200': {
    rule: answering(200, HTML),
    outcome: 'unknown',
    message: UNREADABLE,
  },
  'an empty body': { rule: answering(200, ''), outcome: 'unknown', message: UNREADABLE },
  'no body': { rule: answering(204, ''), outcome: 'unknown', message: UNREADABLE },
  'truncated JSON': {
    rule: answering(200, '{"events_received":2,"mess'),
    outcome: 'unknown',
    message: UNREADABLE,
  },
  'no event received': { rule: { keep_events: 0 }, outcome: 'unknown', message: OTHER_COUNT },
  'fewer events received than sent': {
    rule: { keep_events: 1 },
    outcome: 'unknown',
    message: OTHER_COUNT,
    kept: 1,
  },
  'more events received than sent': {
    rule: answering(200, '{"events_received":3,"messages":[],"fbtrace_id":"A1"}'),
    outcome: 'unknown',
    message: OTHER_COUNT,
  },
  'a body that a proxy rejects as too large': {
    rule: answering(413, HTML),
    outcome: 'permanent',
    message: UNREADABLE,
  },
  'a redirect': {
    rule: answering(307, '', { location: 'http://nowhere.invalid/' }),
    outcome: 'unknown',
    message: UNREADABLE,
  },
  '429 without a code or headers': {
    rule: answering(429, HTML),
    outcome: 'throttle',
    waitSeconds: 60,
    message: UNREADABLE,
  },
  '429 with Retry-After in seconds': {
    rule: answering(429, HTML, { 'retry-after': '120' }),
    outcome: 'throttle',
    waitSeconds: 120,
    message: UNREADABLE,
  },
  '429 with Retry-After as a date': {
    rule: answering(429, HTML, { date: DATE, 'retry-after': LATER }),
    outcome: 'throttle',
    waitSeconds: 120,
    message: UNREADABLE,
  },
  '429 with a shorter Retry-After than a minute': {
    rule: answering(429, HTML, { 'retry-after': '1' }),
    outcome: 'throttle',
    waitSeconds: 60,
    message: UNREADABLE,
  },
  '429 with usage headers and a code': {
    rule: {
      respond: { status: 429, code: 17, subcode: 2_446_079 },
      headers: { 'x-ad-account-usage': '{"acc_id_util_pct":100,"reset_time_duration":300}' },
    },
    outcome: 'throttle',
    waitSeconds: 300,
    message: /^\(#17\)/,
  },
  '429 with the code of an invalid token': {
    rule: { respond: { status: 429, code: 190, subcode: 463 } },
    outcome: 'auth',
    message: /^\(#190\)/,
  },
  '503 with Retry-After and a page': {
    rule: answering(503, HTML, { 'retry-after': '30' }),
    outcome: 'unknown',
    waitSeconds: 30,
    message: UNREADABLE,
  },
  '503 with a code and Retry-After': {
    rule: { respond: { status: 503, code: 2 }, headers: { 'retry-after': '30' } },
    outcome: 'retry',
    waitSeconds: 30,
    message: /^\(#2\)/,
  },
  'a connection closed before the response': {
    rule: { abort: 'before_response' },
    outcome: 'unknown',
    message: BROKEN,
  },
  'a connection closed after the events were stored': {
    rule: { abort: 'after_store' },
    outcome: 'unknown',
    message: BROKEN,
    kept: 2,
  },
  'a connection closed before the body': {
    rule: { truncate: 0 },
    outcome: 'unknown',
    message: BROKEN,
    kept: 2,
  },
  'a connection closed in the middle of the body': {
    rule: { truncate: 10 },
    outcome: 'unknown',
    message: BROKEN,
    kept: 2,
  },
}

for (const [what, failure] of Object.entries(FAILURES)) {
  const { rule, outcome, waitSeconds = 0, message, kept = 0 } = failure
  const wait = waitSeconds === 0 ? '' : `, wait ${waitSeconds} s`
  it(`${what}: ${outcome}${wait}`, async test => {
    const { url, send } = await simulated(test)
    await scriptFaults(url, [rule])
    const answer = await send()
    assert.deepEqual([answer.outcome, answer.waitSeconds], [outcome, waitSeconds])
    assert.match(answer.error?.message ?? '', message)
    assert.equal(answer.error?.class, outcome)
    const { receipts, requests } = await readSimulatorSummary(url)
    assert.deepEqual([receipts, requests], [kept, 1])
  })
}

it('a timeout: unknown, and the platform may have the events', async test => {
  const { url, send } = await simulated(test, IMPATIENT_MILLISECONDS)
  await scriptFaults(url, [{ delay_ms: 600_000 }])
  const answer = await send()
  assert.deepEqual([answer.outcome, answer.httpStatus], ['unknown', null])
  assert.equal(answer.error?.message, 'The platform did not answer in time.')
  assert.equal((await readSimulatorSummary(url)).receipts, 2)
})

it('keeps the trace ID of a response with an unreadable body', async test => {
  const { url, send } = await simulated(test)
  await scriptFaults(url, [answering(502, HTML, { 'x-fb-trace-id': 'AProxy' })])
  const answer = await send()
  assert.deepEqual([answer.traceId, answer.httpStatus, answer.answer], ['AProxy', 502, null])
})
