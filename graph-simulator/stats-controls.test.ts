import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SAMPLE_NOW_SECONDS, sampleEvent } from './sample-event.ts'
import { simulatorUnderTest } from './simulator-under-test.ts'

const DEFAULTS = {
  count_by: 'event_time',
  deduplicate: true,
  deduplicate_servers: true,
  counts_as_text: false,
  page_rows: 200,
}

it('200 returns, changes and restores the counting options', async test => {
  const simulator = await simulatorUnderTest(test)
  assert.deepEqual((await simulator.control('GET', 'stats')).body, DEFAULTS)
  const changed = await simulator.control('POST', 'stats', { page_rows: 3, deduplicate: false })
  assert.deepEqual(changed.body, { ...DEFAULTS, page_rows: 3, deduplicate: false })
  const again = await simulator.control('POST', 'stats', { counts_as_text: true })
  assert.deepEqual(again.body, { ...DEFAULTS, counts_as_text: true })
  assert.deepEqual((await simulator.control('DELETE', 'stats')).body, DEFAULTS)
})

it('422 names every invalid option', async test => {
  const simulator = await simulatorUnderTest(test)
  const wrong = {
    count_by: 'name',
    deduplicate: 1,
    deduplicate_servers: null,
    counts_as_text: 'yes',
    page_rows: 0,
    pages: 1,
  }
  const reply = await simulator.control('POST', 'stats', wrong)
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body.errors), Object.keys(wrong))
  assert.deepEqual((await simulator.control('GET', 'stats')).body, DEFAULTS)
})

it('200 returns the number of other events and leaves the summary unchanged', async test => {
  const simulator = await simulatorUnderTest(test)
  await simulator.send({ data: [sampleEvent()] })
  const before = (await simulator.control('GET', 'summary')).body
  const event = { event_name: 'PageView', event_time: SAMPLE_NOW_SECONDS }
  const events = [event, { ...event, count: 5 }]
  for (const source of ['server', 'browser']) {
    const body = { dataset: '1234', source, events }
    assert.deepEqual((await simulator.control('POST', 'other-events', body)).body, { added: 6 })
  }
  assert.deepEqual((await simulator.control('GET', 'summary')).body, before)
  assert.equal((await simulator.control('GET', 'received')).body.count, 1)
})

it('422 names every invalid field of other events and adds none', async test => {
  const simulator = await simulatorUnderTest(test)
  const event = { event_name: 'PageView', event_time: SAMPLE_NOW_SECONDS }
  const add = async (body: object) => {
    const reply = await simulator.control('POST', 'other-events', body)
    assert.equal(reply.status, 422)
    return Object.keys(reply.body.errors)
  }
  const good = { dataset: '1234', source: 'server', events: [event] }
  assert.deepEqual(await add({}), ['dataset', 'source', 'events'])
  assert.deepEqual(await add({ ...good, dataset: 1234 }), ['dataset'])
  assert.deepEqual(await add({ ...good, source: 'pixel' }), ['source'])
  const times = [SAMPLE_NOW_SECONDS - 7 * 86_400 - 1, SAMPLE_NOW_SECONDS + 301, 1.5, '1']
  const events: object[] = times.map(event_time => ({ ...event, event_time }))
  assert.deepEqual(await add({ ...good, events: events.slice(0, 2) }), [
    'events.0.event_time',
    'events.1.event_time',
  ])
  assert.deepEqual(await add({ ...good, events: events.slice(2) }), [
    'events.0.event_time',
    'events.1.event_time',
  ])
  const twice = { ...event, event_id: 'a', count: 2 }
  assert.deepEqual(await add({ ...good, events: [event, twice] }), ['events.1.count'])
  assert.deepEqual(await add({ ...good, events: [{ ...event, name: 'x' }] }), ['events.0.name'])
  const { body } = await simulator.read('1234/stats', { aggregation: 'event' })
  assert.deepEqual(body.data, [])
})
