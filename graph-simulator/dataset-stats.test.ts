import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SAMPLE_NOW_SECONDS, sampleEvent, samplePurchase } from './sample-event.ts'
import { type Reply, type SimulatorUnderTest, simulatorUnderTest } from './simulator-under-test.ts'

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400
const EVENT = { aggregation: 'event' }

/** Each row's hour and counts, as `13 PageView 2, Purchase 1`. */
function rowsOf({ body }: Reply): string[] {
  const rows: { start_time: string; data: { value: string; count: unknown }[] }[] = body.data
  return rows.map(({ start_time, data }) => {
    const counts = data.map(({ value, count }) => `${value} ${count}`)
    return `${start_time.slice(8, 13)} ${counts.join(', ')}`
  })
}

function stats(simulator: SimulatorUnderTest, query: Record<string, string> = {}): Promise<Reply> {
  return simulator.read('1234/stats', { ...EVENT, ...query })
}

it('200 counts by the hour of event_time, most frequent name first', async test => {
  const simulator = await simulatorUnderTest(test)
  const at = (hoursAgo: number) => SAMPLE_NOW_SECONDS - hoursAgo * HOUR_SECONDS
  await simulator.send({
    data: [
      samplePurchase({ event_id: 'a', event_time: at(1) }),
      sampleEvent({ event_id: 'b', event_time: at(1) + 1 }),
      sampleEvent({ event_id: 'c', event_time: at(1) + 3_599 }),
      sampleEvent({ event_id: 'd', event_time: at(30) }),
    ],
  })
  await simulator.send({ data: [sampleEvent()] }, { dataset: '99' })
  const reply = await stats(simulator)
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.body, {
    data: [
      {
        start_time: '2026-11-20T06:00:00+0000',
        aggregation: 'event',
        data: [{ value: 'PageView', count: 1 }],
      },
      {
        start_time: '2026-11-21T11:00:00+0000',
        aggregation: 'event',
        data: [
          { value: 'PageView', count: 2 },
          { value: 'Purchase', count: 1 },
        ],
      },
    ],
    paging: {},
  })
})

it('200 counts by arrival when configured, earlier events included', async test => {
  const simulator = await simulatorUnderTest(test)
  const event_time = SAMPLE_NOW_SECONDS - 5 * HOUR_SECONDS
  await simulator.send({ data: [sampleEvent({ event_time })] })
  simulator.advance(60)
  assert.deepEqual(rowsOf(await stats(simulator)), ['21T07 PageView 1'])
  await simulator.control('POST', 'stats', { count_by: 'arrival' })
  assert.deepEqual(rowsOf(await stats(simulator)), ['21T12 PageView 1'])
})

it('200 counts a copy once unless configured otherwise, test events included', async test => {
  const simulator = await simulatorUnderTest(test)
  for (let copy = 0; copy < 3; copy++) await simulator.send({ data: [sampleEvent()] })
  await simulator.send({ data: [sampleEvent()], test_event_code: 'TEST1' })
  await simulator.send({ data: [sampleEvent({ event_id: undefined })] })
  assert.deepEqual(rowsOf(await stats(simulator)), ['21T11 PageView 3'])
  await simulator.control('POST', 'stats', { deduplicate_servers: false })
  assert.deepEqual(rowsOf(await stats(simulator)), ['21T11 PageView 5'])
})

it('200 counts a copy again after 48 hours', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent()] })
  simulator.advance(48 * HOUR_SECONDS - 1)
  await simulator.send({ data: [sampleEvent()] })
  assert.deepEqual(rowsOf(await stats(simulator)), ['21T11 PageView 1'])
  simulator.advance(1)
  await simulator.send({ data: [sampleEvent()] })
  assert.deepEqual(rowsOf(await stats(simulator)), ['21T11 PageView 2'])
})

it('200 filters by source and counts a duplicate as the browser event', async test => {
  const simulator = await simulatorUnderTest(test)
  const event_time = SAMPLE_NOW_SECONDS - 60
  const give = (source: string, events: object[]) =>
    simulator.control('POST', 'other-events', { dataset: '1234', source, events })
  const named = (event_id: string) => ({ event_name: 'PageView', event_time, event_id })
  await give('browser', [named('before'), { event_name: 'PageView', event_time, count: 10 }])
  await simulator.send({ data: ['before', 'after', 'alone'].map(id => sampleEvent(named(id))) })
  await give('browser', [named('after'), named('after')])
  await give('server', [named('alone'), { event_name: 'Lead', event_time, count: 4 }])

  const shown = async (query = {}) => rowsOf(await stats(simulator, query))
  assert.deepEqual(await shown({ event_source: 'SERVER_ONLY' }), ['21T11 Lead 4, PageView 1'])
  assert.deepEqual(await shown({ event_source: 'WEB_ONLY' }), ['21T11 PageView 13'])
  assert.deepEqual(await shown(), ['21T11 PageView 14, Lead 4'])
  await simulator.control('POST', 'stats', { deduplicate: false })
  assert.deepEqual(await shown({ event_source: 'SERVER_ONLY' }), ['21T11 Lead 4, PageView 3'])

  await simulator.control('DELETE', 'stats')
  await simulator.control('DELETE', 'other-events')
  assert.deepEqual(await shown(), ['21T11 PageView 3'])
})

it('200 does not deduplicate a browser event that arrives 48 hours later', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent()] })
  simulator.advance(48 * HOUR_SECONDS)
  const event = { event_name: 'PageView', event_time: SAMPLE_NOW_SECONDS, event_id: 'event-1' }
  await simulator.control('POST', 'other-events', {
    dataset: '1234',
    source: 'browser',
    events: [event],
  })
  const reply = await stats(simulator, { event_source: 'SERVER_ONLY' })
  assert.deepEqual(rowsOf(reply), ['21T11 PageView 1'])
})

it('200 returns the hours of the requested range, in seconds or ISO 8601', async test => {
  const simulator = await simulatorUnderTest(test)
  const at = (hour: number) => Date.UTC(2026, 10, 20, hour) / 1_000
  const data = [9, 10, 11].map(hour => sampleEvent({ event_id: `${hour}`, event_time: at(hour) }))
  await simulator.send({ data })
  const spans = [
    [at(10), at(11)],
    ['2026-11-20T10:00:00Z', '2026-11-20T12:00:00+01:00'],
    ['2026-11-20T10:00:00+0000', '2026-11-20T11:00'],
  ]
  for (const [start, end] of spans) {
    const reply = await stats(simulator, { start_time: `${start}`, end_time: `${end}` })
    assert.deepEqual(rowsOf(reply), ['20T10 PageView 1'])
  }
  const day = await stats(simulator, { start_time: '2026-11-20', end_time: '2026-11-21' })
  assert.equal(rowsOf(day).length, 3)
})

it('200 omits hours that began more than 7 days ago', async test => {
  const simulator = await simulatorUnderTest(test)
  const event_time = SAMPLE_NOW_SECONDS - DAY_SECONDS
  await simulator.send({ data: [sampleEvent({ event_time })] })
  const span = { start_time: `${event_time}`, end_time: `${event_time + DAY_SECONDS}` }
  simulator.advance(6 * DAY_SECONDS)
  assert.deepEqual(rowsOf(await stats(simulator, span)), ['20T12 PageView 1'])
  simulator.advance(1)
  assert.deepEqual(rowsOf(await stats(simulator, span)), [])
})

it('500 with code 1 for a range longer than 7 days', async test => {
  const simulator = await simulatorUnderTest(test)
  const start = SAMPLE_NOW_SECONDS - 7 * DAY_SECONDS
  assert.equal((await stats(simulator, { start_time: `${start}` })).status, 200)
  const { status, body } = await stats(simulator, { start_time: `${start - 1}` })
  assert.deepEqual([status, body.error.code], [500, 1])
  assert.match(body.error.message, /reduce the amount of data/)
})

it('200 paginates rows, and each page links to the next', async test => {
  const simulator = await simulatorUnderTest(test)
  const data = [1, 2, 3, 4, 5].map(hours =>
    sampleEvent({ event_id: `${hours}`, event_time: SAMPLE_NOW_SECONDS - hours * HOUR_SECONDS }),
  )
  await simulator.send({ data })
  await simulator.control('POST', 'stats', { page_rows: 2 })
  const headers = { authorization: 'Bearer token-a' }
  const seen: string[][] = []
  let next = `${simulator.url}/v26.0/1234/stats?aggregation=event&event_source=SERVER_ONLY`
  while (next) {
    const body = (await (await fetch(next, { headers })).json()) as Reply['body']
    seen.push(rowsOf({ body } as Reply))
    next = body.paging.next
    if (next) assert.ok(next.startsWith(`${simulator.url}/v26.0/1234/stats?aggregation=event&`))
  }
  assert.deepEqual(seen, [
    ['21T07 PageView 1', '21T08 PageView 1'],
    ['21T09 PageView 1', '21T10 PageView 1'],
    ['21T11 PageView 1'],
  ])
})

it('200 lists the 100 most frequent names of an hour, with text counts when configured', async test => {
  const simulator = await simulatorUnderTest(test)
  const event_time = SAMPLE_NOW_SECONDS - 1
  const events = Array.from({ length: 101 }, (_, index) => ({
    event_name: `Name${index}`,
    event_time,
    count: index + 1,
  }))
  await simulator.control('POST', 'other-events', { dataset: '1234', source: 'server', events })
  await simulator.control('POST', 'stats', { counts_as_text: true })
  const [row] = (await stats(simulator)).body.data
  assert.equal(row.data.length, 100)
  assert.deepEqual(row.data[0], { value: 'Name100', count: '101' })
  assert.deepEqual(row.data[99], { value: 'Name1', count: '2' })
})

it('200 sums the whole range for event_total_counts', async test => {
  const simulator = await simulatorUnderTest(test)
  const data = [1, 2].map(hours =>
    sampleEvent({ event_id: `${hours}`, event_time: SAMPLE_NOW_SECONDS - hours * HOUR_SECONDS }),
  )
  await simulator.send({ data })
  const aggregation = 'event_total_counts'
  const { body } = await stats(simulator, { aggregation, start_time: '2026-11-21T00:00:00Z' })
  assert.deepEqual(body, {
    data: [
      {
        start_time: '2026-11-21T00:00:00+0000',
        aggregation,
        data: [{ value: 'PageView', count: 2 }],
      },
    ],
    paging: {},
  })
})

it('200 returns no rows for a dataset without events', async test => {
  const simulator = await simulatorUnderTest(test)
  assert.deepEqual((await stats(simulator)).body, { data: [], paging: {} })
})

it('400 with code 100 for an invalid query', async test => {
  const simulator = await simulatorUnderTest(test)
  const questions: Record<string, string>[] = [
    { aggregation: 'host' },
    { event_source: 'APP_ONLY' },
    { start_time: 'yesterday' },
    { start_time: '2026-11-21T11:00:00Z', end_time: '2026-11-21T11:00:00Z' },
    { after: 'nowhere' },
  ]
  for (const question of questions) {
    const { status, body } = await stats(simulator, question)
    assert.deepEqual([status, body.error?.code], [400, 100], JSON.stringify(question))
  }
})

it('deletes the counts with the received events', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent()] })
  await simulator.control('DELETE', 'received')
  assert.deepEqual((await stats(simulator)).body.data, [])
  await simulator.send({ data: [sampleEvent()] })
  assert.deepEqual(rowsOf(await stats(simulator)), ['21T11 PageView 1'])
})
