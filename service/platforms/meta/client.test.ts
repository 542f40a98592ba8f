import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { outboundEvent } from '../../../testing/outbound-event.ts'
import { revokeToken, scriptFaults, simulatorSummary } from '../../../testing/simulator-controls.ts'
import { freePort } from '../../db/free-port.ts'
import type { OutboundEvent, PlatformTarget } from '../platform.ts'
import { metaPlatform } from './client.ts'

const TARGET: PlatformTarget = {
  datasetId: '1234',
  accessToken: 'token-of-the-test',
  testEventCode: null,
}
const NOW = new Date('2026-11-21T12:00:00.000Z')
/** Far more than an answer takes, where one comes; where none comes, a short wait is enough. */
const PATIENT_MILLISECONDS = 30_000
const IMPATIENT_MILLISECONDS = 200

async function simulated(test: TestContext, timeoutMilliseconds = PATIENT_MILLISECONDS) {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(() => simulator.close())
  const { url } = simulator
  const platform = metaPlatform({ baseUrl: url, version: 'v26.0', timeoutMilliseconds })
  const send = (changes: Partial<OutboundEvent> = {}, target: Partial<PlatformTarget> = {}) =>
    platform.send({ ...TARGET, ...target }, [outboundEvent(changes)])
  return { url, platform, send }
}

it('reports what the platform accepted, with its trace id', async test => {
  const { url, platform } = await simulated(test)
  const events = ['a', 'b', 'c'].map(eventId => outboundEvent({ eventId }))
  const answer = await platform.send(TARGET, events)
  assert.match(answer.traceId ?? '', /^A\w+/)
  assert.deepEqual(answer, {
    outcome: 'accepted',
    waitSeconds: 0,
    httpStatus: 200,
    traceId: answer.traceId,
    answer: { events_received: 3, messages: [] },
    error: null,
  })
  const { receipts, value_by_currency } = await simulatorSummary(url)
  assert.deepEqual([receipts, value_by_currency], [3, { EUR: '59.7' }])
})

it('sends test events as such', async test => {
  const { url, send } = await simulated(test)
  assert.equal((await send({}, { testEventCode: 'TEST12345' })).outcome, 'accepted')
  const { test_receipts, receipts } = await simulatorSummary(url)
  assert.deepEqual([test_receipts, receipts], [1, 0])
})

it('knows a revoked token', async test => {
  const { url, send } = await simulated(test)
  await revokeToken(url, TARGET.accessToken)
  const answer = await send()
  assert.equal(answer.outcome, 'auth')
  assert.deepEqual([answer.httpStatus, answer.error?.code, answer.error?.subcode], [401, 190, 467])
})

it('names the code of a refused event', async test => {
  const { send } = await simulated(test)
  const answer = await send({ eventTime: new Date('2026-11-01T00:00:00Z') })
  assert.deepEqual([answer.outcome, answer.error?.subcode], ['permanent', 2_804_003])
})

it('does not know what became of a request that got no answer in time', async test => {
  const { url, send } = await simulated(test, IMPATIENT_MILLISECONDS)
  await scriptFaults(url, [{ delay_ms: 600_000 }])
  const answer = await send()
  assert.equal(answer.outcome, 'unknown')
  assert.equal(answer.error?.message, 'The platform did not answer in time.')
  assert.equal(answer.httpStatus, null)
})

it('does not know what became of a request whose answer stops half-way', async test => {
  const { url, send } = await simulated(test)
  await scriptFaults(url, [{ truncate: 10 }])
  const answer = await send()
  assert.equal(answer.outcome, 'unknown')
  assert.match(answer.error?.message ?? '', /^The connection to the platform broke \(/)
})

for (const abort of ['before_response', 'after_store']) {
  it(`does not know what became of a request that was cut off ${abort}`, async test => {
    const { url, send } = await simulated(test)
    await scriptFaults(url, [{ abort }])
    const answer = await send()
    assert.equal(answer.outcome, 'unknown')
    assert.match(answer.error?.message ?? '', /^The connection to the platform broke \(/)
    const { receipts } = await simulatorSummary(url)
    assert.equal(receipts, abort === 'after_store' ? 1 : 0)
  })
}

it('knows that nothing was sent when nobody listens', async () => {
  const baseUrl = `http://127.0.0.1:${await freePort()}`
  const platform = metaPlatform({ baseUrl, version: 'v26.0', timeoutMilliseconds: 30_000 })
  const answer = await platform.send(TARGET, [outboundEvent()])
  assert.equal(answer.outcome, 'retry')
  assert.equal(answer.error?.message, 'The platform could not be reached (ECONNREFUSED).')
})

it('knows that nothing was sent when the name is unknown', async () => {
  const baseUrl = 'http://nowhere.invalid'
  const platform = metaPlatform({ baseUrl, version: 'v26.0', timeoutMilliseconds: 30_000 })
  const answer = await platform.send(TARGET, [outboundEvent()])
  assert.equal(answer.outcome, 'retry')
  assert.match(answer.error?.message ?? '', /could not be reached \((ENOTFOUND|EAI_AGAIN)\)/)
})

it('tells its token to nobody to whom it is redirected', async test => {
  const { url, send } = await simulated(test)
  const elsewhere = await simulated(test)
  for (const status of [301, 302, 303, 307, 308]) {
    const headers = { location: `${elsewhere.url}/v26.0/1234/events` }
    await scriptFaults(url, [{ respond: { status, body: '', headers } }])
    const answer = await send()
    assert.deepEqual([answer.outcome, answer.httpStatus], ['unknown', status])
  }
  assert.equal((await simulatorSummary(elsewhere.url)).requests, 0)
})

it('reads a page of a proxy as no answer at all', async test => {
  const { url, send } = await simulated(test)
  const headers = { 'content-type': 'text/html', 'x-fb-trace-id': 'AProxy' }
  await scriptFaults(url, [{ respond: { status: 502, body: '<html>Bad Gateway</html>', headers } }])
  const answer = await send()
  assert.deepEqual(
    [answer.outcome, answer.httpStatus, answer.traceId, answer.answer],
    ['unknown', 502, 'AProxy', null],
  )
})

it('heeds the rate-limit headers of a refusal and of a success', async test => {
  const { url, send } = await simulated(test)
  const regain = '{"1":[{"type":"ads_management","estimated_time_to_regain_access":19}]}'
  const headers = { 'x-business-use-case-usage': regain }
  await scriptFaults(url, [{ respond: { status: 400, code: 80_004, headers } }])
  const refused = await send()
  assert.deepEqual([refused.outcome, refused.waitSeconds], ['throttle', 1_140])

  const body = '{"events_received":1,"messages":[],"fbtrace_id":"A1"}'
  const usage = { 'x-app-usage': '{"call_count":95,"total_time":3,"total_cputime":3}' }
  await scriptFaults(url, [{ respond: { status: 200, body, headers: usage } }])
  const accepted = await send()
  assert.deepEqual([accepted.outcome, accepted.waitSeconds], ['accepted', 10])
})

it('gives the window of a store visit 62 days and of everything else 7', () => {
  const { windowSeconds } = metaPlatform({ baseUrl: '', version: '', timeoutMilliseconds: 1 })
  assert.equal(windowSeconds('physical_store'), 62 * 86_400)
  for (const source of ['website', 'app', 'other', '']) {
    assert.equal(windowSeconds(source), 7 * 86_400)
  }
})
