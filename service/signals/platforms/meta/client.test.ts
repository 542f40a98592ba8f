import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import {
  readSimulatorSummary,
  revokeToken,
  scriptFaults,
} from '../../../../testing/fixtures/simulator.ts'
import type { Connection, OutboundEvent } from '../platform.ts'
import { metaPlatform } from './client.ts'
import type { MetaTarget } from './payload.ts'

const CONNECTION: Connection<MetaTarget> = {
  target: { datasetId: '1234' },
  accessToken: 'token-of-the-test',
  testCode: null,
}
const NOW = new Date('2026-11-21T12:00:00.000Z')

async function simulated(test: TestContext) {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(() => simulator.close())
  const { url } = simulator
  const platform = metaPlatform({
    baseUrl: url,
    version: 'v26.0',
    timeoutMilliseconds: 30_000,
    now: () => new Date(),
  })
  const send = (
    changes: Partial<OutboundEvent> = {},
    connection: Partial<Connection<MetaTarget>> = {},
  ) => platform.send({ ...CONNECTION, ...connection }, [sampleOutboundEvent(changes)])
  return { url, platform, send }
}

it('returns accepted with the trace ID of the platform', async test => {
  const { url, platform } = await simulated(test)
  const events = ['a', 'b', 'c'].map(eventId => sampleOutboundEvent({ eventId }))
  const answer = await platform.send(CONNECTION, events)
  assert.match(answer.traceId ?? '', /^A[\w-]+$/)
  assert.deepEqual(answer, {
    outcome: 'accepted',
    waitSeconds: 0,
    httpStatus: 200,
    traceId: answer.traceId,
    answer: { events_received: 3, messages: [] },
    error: null,
  })
  const { receipts, value_by_currency } = await readSimulatorSummary(url)
  assert.deepEqual([receipts, value_by_currency], [3, { EUR: '59.7' }])
})

it('sends test events with the test event code', async test => {
  const { url, send } = await simulated(test)
  assert.equal((await send({}, { testCode: 'TEST12345' })).outcome, 'accepted')
  const { test_receipts, receipts } = await readSimulatorSummary(url)
  assert.deepEqual([test_receipts, receipts], [1, 0])
})

it('recognizes a revoked token', async test => {
  const { url, send } = await simulated(test)
  await revokeToken(url, CONNECTION.accessToken)
  const answer = await send()
  assert.equal(answer.outcome, 'auth')
  assert.deepEqual([answer.httpStatus, answer.error?.code, answer.error?.subcode], [401, 190, 467])
})

it('returns the error code of a rejected event', async test => {
  const { send } = await simulated(test)
  const answer = await send({ eventTime: new Date('2026-11-01T00:00:00Z') })
  assert.deepEqual([answer.outcome, answer.error?.subcode], ['permanent', 2_804_003])
})

it('does not send its token to the target of a redirect', async test => {
  const { url, send } = await simulated(test)
  const elsewhere = await simulated(test)
  for (const status of [301, 302, 303, 307, 308]) {
    const headers = { location: `${elsewhere.url}/v26.0/1234/events` }
    await scriptFaults(url, [{ respond: { status, body: '', headers } }])
    const answer = await send()
    assert.deepEqual([answer.outcome, answer.httpStatus], ['unknown', status])
  }
  assert.equal((await readSimulatorSummary(elsewhere.url)).requests, 0)
})

it('honors the rate-limit headers of an error response', async test => {
  const { url, send } = await simulated(test)
  const regain = '{"1":[{"type":"ads_management","estimated_time_to_regain_access":19}]}'
  const headers = { 'x-business-use-case-usage': regain }
  await scriptFaults(url, [{ respond: { status: 400, code: 80_004, headers } }])
  const refused = await send()
  assert.deepEqual([refused.outcome, refused.waitSeconds], ['throttle', 1_140])
})

/** Usage headers of a successful response: percent, minutes, seconds. */
const PACES: [header: string, value: string, waitSeconds: number][] = [
  ['X-App-Usage', '{"call_count":28,"total_time":25,"total_cputime":25}', 0],
  ['X-App-Usage', '{"call_count":95,"total_time":3,"total_cputime":3}', 10],
  ['X-App-Usage', '{"call_count":3,"total_time":3,"total_cputime":100}', 60],
  ['X-Business-Use-Case-Usage', '{"1":[{"type":"ads_management","call_count":95}]}', 10],
  ['X-Business-Use-Case-Usage', '{"1":[{"estimated_time_to_regain_access":19}]}', 1_140],
  ['X-Ad-Account-Usage', '{"acc_id_util_pct":95.5,"reset_time_duration":900}', 10],
  ['X-Ad-Account-Usage', '{"acc_id_util_pct":100,"reset_time_duration":900}', 900],
  ['Retry-After', '7', 7],
]

for (const [header, value, waitSeconds] of PACES) {
  it(`slows down by ${waitSeconds} s after a success with ${header}: ${value}`, async test => {
    const { url, send } = await simulated(test)
    await scriptFaults(url, [{ headers: { [header]: value } }])
    const accepted = await send()
    assert.deepEqual([accepted.outcome, accepted.waitSeconds], ['accepted', waitSeconds])
    assert.equal((await readSimulatorSummary(url)).receipts, 1)
  })
}

it('names the invalid setting when the token or the dataset ID cannot be sent', async test => {
  const { url, send } = await simulated(test)
  const unwritable = [
    { accessToken: 'secret\nof two lines' },
    { accessToken: 'secret \u201cin quotes\u201d' },
    { target: { datasetId: '\ud800' } },
  ]
  for (const target of unwritable) {
    const answer = await send({}, target)
    assert.deepEqual([answer.outcome, answer.httpStatus], ['config', null])
    assert.match(
      answer.error?.message ?? '',
      /^The access token or the dataset id holds characters/,
    )
    assert.equal(JSON.stringify(answer).includes('secret'), false)
  }
  assert.equal((await readSimulatorSummary(url)).requests, 0)
})

it('accepts store visits for 62 days and all other events for 7', () => {
  const { windowSeconds } = metaPlatform({
    baseUrl: '',
    version: '',
    timeoutMilliseconds: 1,
    now: () => new Date(),
  })
  assert.equal(windowSeconds('physical_store'), 62 * 86_400)
  for (const source of ['website', 'app', 'other', '']) {
    assert.equal(windowSeconds(source), 7 * 86_400)
  }
})
