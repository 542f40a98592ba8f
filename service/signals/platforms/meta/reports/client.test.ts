import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../../../testing/fixtures/sample-events.ts'
import { revokeToken, scriptFaults } from '../../../../../testing/fixtures/simulator.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '../../../../runtime/util/time.ts'
import type { DayCounts, MatchQuality, OutboundEvent, Unavailable } from '../../platform.ts'
import { metaPlatform } from '../client.ts'

const CONNECTION = {
  target: { datasetId: '1234' },
  accessToken: 'token-of-the-test',
  testCode: null,
}
const NOW = new Date('2026-11-21T12:00:00.000Z')
const DAY = { from: new Date('2026-11-20T00:00:00Z'), until: new Date('2026-11-21T00:00:00Z') }

async function simulated(test: TestContext) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  const options = { baseUrl: url, version: 'v26.0', timeoutMilliseconds: 30_000 }
  const platform = metaPlatform({ ...options, now: () => NOW })
  const control = async (path: string, body: unknown) => {
    const init = { method: 'POST', body: JSON.stringify(body) }
    assert.equal((await fetch(`${url}/_simulator/${path}`, init)).status, 200)
  }
  const send = async (events: Partial<OutboundEvent>[]) => {
    const answer = await platform.send(CONNECTION, events.map(sampleOutboundEvent))
    assert.equal(answer.outcome, 'accepted')
  }
  return { url, options, platform, control, send }
}

function at(hour: number): Date {
  return new Date(DAY.from.getTime() + hour * HOUR_MILLISECONDS)
}

function countsOf(answer: DayCounts | Unavailable): Record<string, number> {
  assert.ok(answer.kind === 'counts', JSON.stringify(answer))
  return { ...answer.counts }
}

function qualityOf(answer: MatchQuality | Unavailable): MatchQuality {
  assert.ok(answer.kind === 'quality', JSON.stringify(answer))
  return answer
}

it('sums the hours of the day by event name, without the adjacent days', async test => {
  const { platform, send } = await simulated(test)
  await send(
    [-1, 0, 0, 13, 23, 24].map((hour, index) => ({
      eventId: `event-${index}`,
      eventTime: at(hour),
      eventName: index === 3 ? 'Lead' : 'Purchase',
    })),
  )
  const answer = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.deepEqual(countsOf(answer), { Purchase: 3, Lead: 1 })
  assert.ok(answer.kind === 'counts' && !answer.isTruncated)
})

it('follows every page, and reads counts that are strings', async test => {
  const { platform, send, control } = await simulated(test)
  await control('stats', { page_rows: 1, counts_as_text: true })
  const events = Array.from({ length: 24 }, (_, hour) => ({
    eventId: `event-${hour}`,
    eventTime: at(hour),
  }))
  await send(events)
  assert.deepEqual(countsOf(await platform.readDayCounts(CONNECTION, DAY, 'server')), {
    Purchase: 24,
  })
})

it('counts server and browser events separately', async test => {
  const { platform, send, control } = await simulated(test)
  await send([
    { eventId: 'both', eventTime: at(3) },
    { eventId: 'alone', eventTime: at(3) },
  ])
  const event_time = at(3).getTime() / 1_000
  const events = [
    { event_name: 'Purchase', event_time, event_id: 'both' },
    { event_name: 'PageView', event_time, count: 7 },
  ]
  await control('other-events', { dataset: '1234', source: 'browser', events })
  const server = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.deepEqual(countsOf(server), { Purchase: 1 })
  const browser = await platform.readDayCounts(CONNECTION, DAY, 'browser')
  assert.deepEqual(countsOf(browser), { Purchase: 1, PageView: 7 })
})

it('reports truncation when an hour reaches the limit of event names', async test => {
  const { platform, control } = await simulated(test)
  const event_time = at(5).getTime() / 1_000
  const events = Array.from({ length: 100 }, (_, index) => ({
    event_name: `Name${index}`,
    event_time,
  }))
  const body = { dataset: '1234', source: 'server' }
  await control('other-events', { ...body, events: events.slice(1) })
  const before = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.ok(before.kind === 'counts' && !before.isTruncated)
  await control('other-events', { ...body, events: events.slice(0, 1) })
  const after = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.ok(after.kind === 'counts' && after.isTruncated)
})

it('returns empty counts for a day without events', async test => {
  const { platform } = await simulated(test)
  assert.deepEqual(countsOf(await platform.readDayCounts(CONNECTION, DAY, 'server')), {})
})

it('makes no request for a range that began more than 7 days ago, or is longer', async test => {
  const { url, platform } = await simulated(test)
  await scriptFaults(url, [{ edge: 'stats', respond: { status: 500 } }])
  const days = (count: number) => new Date(NOW.getTime() - count * DAY_MILLISECONDS)
  const spans = [
    { from: days(8), until: days(7) },
    { from: days(7), until: days(6) },
    { from: days(6.9), until: days(-1) },
  ]
  for (const span of spans) {
    const answer = await platform.readDayCounts(CONNECTION, span, 'server')
    assert.ok(answer.kind === 'unavailable')
    assert.equal(answer.cause, 'out_of_range')
  }
  const faults = await (await fetch(`${url}/_simulator/faults`)).json()
  assert.equal((faults as { rules: { fired: number }[] }).rules[0]?.fired, 0)
})

it('reads scores, coverage by our key names, and possible gains', async test => {
  const { platform, send } = await simulated(test)
  const plain = { client_ip_address: '198.51.100.7', client_user_agent: 'Mozilla/5.0' }
  await send([
    { eventId: 'a', plain },
    { eventId: 'b', plain, digests: { ph: ['f'.repeat(64)] } },
  ])
  await send([{ eventName: 'Lead', eventId: 'c' }])
  const { events, answer } = qualityOf(await platform.readMatchQuality(CONNECTION))
  assert.deepEqual(
    events.map(({ eventName, score, eventCount }) => [eventName, score, eventCount]),
    [
      ['Purchase', 3.5, 2],
      ['Lead', 3.2, null],
    ],
  )
  const keys = events[0]?.keys.map(key => Object.values(key))
  assert.deepEqual(keys, [
    ['em', 50, 12.5],
    ['ph', 50, 7.5],
    ['fbc', 0, 15],
    ['external_id', 0, 10],
    ['fbp', 0, 10],
    ['client_ip_address', 100, null],
    ['client_user_agent', 100, null],
  ])
  assert.ok(Array.isArray(answer.web) && answer.web.length === 2)
})

it('returns a better score for more keys', async test => {
  const { platform, send } = await simulated(test)
  await send([{ eventId: 'a' }])
  const before = qualityOf(await platform.readMatchQuality(CONNECTION)).events[0]?.score ?? 10
  const digests = { em: ['e'.repeat(64)], ph: ['f'.repeat(64)] }
  await send([{ eventId: 'b', digests, plain: { fbp: 'fb.1.1.1' } }])
  const after = qualityOf(await platform.readMatchQuality(CONNECTION)).events[0]?.score ?? 0
  assert.ok(after > before)
})

/** Errors of Meta and what they mean: status, code, cause, wait. */
const REFUSALS: [number, number, Unavailable['cause'], number][] = [
  [400, 100, 'permission', 0],
  [403, 200, 'permission', 0],
  [403, 10, 'permission', 0],
  [401, 190, 'credential', 0],
  [400, 368, 'out_of_reach', 3_600],
  [400, 80_004, 'throttled', 60],
  [500, 1, 'out_of_reach', 0],
  [503, 2, 'out_of_reach', 0],
]

for (const [status, code, cause, waitSeconds] of REFUSALS) {
  it(`code ${code} is ${cause}, never a count of zero`, async test => {
    const { url, platform } = await simulated(test)
    const message = `(#${code}) Permission Denied for token-of-the-test on 1234`
    const respond = { status, code, message }
    const edges = ['stats', 'dataset_quality']
    await scriptFaults(
      url,
      edges.map(edge => ({ edge, respond })),
    )
    const answers = [
      await platform.readDayCounts(CONNECTION, DAY, 'server'),
      await platform.readMatchQuality(CONNECTION),
    ]
    for (const answer of answers) {
      assert.ok(answer.kind === 'unavailable')
      assert.deepEqual([answer.cause, answer.waitSeconds], [cause, waitSeconds])
      assert.match(answer.sentence, /^[A-Z][^.]*\.$|7 days/)
      assert.doesNotMatch(answer.sentence, /token-of-the-test|1234/)
    }
  })
}

it('returns the wait that the headers of a throttled response ask for', async test => {
  const { url, platform } = await simulated(test)
  const usage = '{"1":[{"type":"ads_management","estimated_time_to_regain_access":19}]}'
  const headers = { 'x-business-use-case-usage': usage }
  await scriptFaults(url, [{ edge: 'stats', respond: { status: 400, code: 80_004 }, headers }])
  const answer = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.ok(answer.kind === 'unavailable')
  assert.deepEqual([answer.cause, answer.waitSeconds], ['throttled', 19 * 60])
})

it('returns no partial day after an error on the second page', async test => {
  const { url, platform, send, control } = await simulated(test)
  await control('stats', { page_rows: 1 })
  await send([1, 2].map(hour => ({ eventId: `event-${hour}`, eventTime: at(hour) })))
  const headers = {}
  await scriptFaults(url, [
    { edge: 'stats', times: 1, headers },
    { edge: 'stats', respond: { status: 400, code: 100 } },
  ])
  const answer = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.ok(answer.kind === 'unavailable')
  assert.equal(answer.cause, 'permission')
})

it('distinguishes a revoked token from an unknown dataset', async test => {
  const { url, platform } = await simulated(test)
  const stranger = await platform.readMatchQuality(CONNECTION)
  assert.equal(stranger.kind === 'unavailable' && stranger.cause, 'permission')
  await revokeToken(url, CONNECTION.accessToken)
  const revoked = await platform.readDayCounts(CONNECTION, DAY, 'server')
  assert.equal(revoked.kind === 'unavailable' && revoked.cause, 'credential')
})

it('asks for a new token or dataset ID when one cannot be sent', async test => {
  const { platform } = await simulated(test)
  for (const wrong of [{ accessToken: 'secret\r\nx: y' }, { target: { datasetId: '\ud800' } }]) {
    const target = { ...CONNECTION, ...wrong }
    const answer = await platform.readDayCounts(target, DAY, 'server')
    assert.ok(answer.kind === 'unavailable')
    assert.equal(answer.cause, 'credential')
    assert.doesNotMatch(answer.sentence, /secret/)
  }
})

it('connection refused: out_of_reach', async () => {
  const baseUrl = `http://127.0.0.1:${await findFreePort()}`
  const options = { baseUrl, version: 'v26.0', timeoutMilliseconds: 30_000, now: () => NOW }
  const answer = await metaPlatform(options).readDayCounts(CONNECTION, DAY, 'server')
  assert.deepEqual(answer, {
    kind: 'unavailable',
    cause: 'out_of_reach',
    sentence: 'The platform could not be reached (ECONNREFUSED).',
    waitSeconds: 0,
  })
})
