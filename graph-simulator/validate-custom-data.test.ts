import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from './sample-event.ts'
import { simulatorUnderTest } from './simulator-under-test.ts'

const MONEY = { value: 19.95, currency: 'USD' }

it('400 for contents without IDs, content_ids that are no list and unknown content types', async test => {
  const simulator = await simulatorUnderTest(test)
  const wrong: [string, unknown][] = [
    ['contents', '[{"id":"a"}]'],
    ['contents', { id: 'a' }],
    ['contents', ['a']],
    ['contents', [null]],
    ['contents', [[]]],
    ['contents', [{ id: 'a' }, {}]],
    ['contents', [{ id: '' }]],
    ['contents', [{ id: null }]],
    ['contents', [{ item_id: 'a' }]],
    ['content_type', 'products'],
    ['content_type', ['hotel', 'castle']],
    ['content_type', { hotel: true }],
    ['content_ids', 'a'],
    ['content_ids', 7],
    ['content_ids', [null]],
    ['content_ids', [['a']]],
  ]
  for (const [member, value] of wrong) {
    const event = samplePurchase({ custom_data: { ...MONEY, [member]: value } })
    const { error } = (await simulator.send({ data: [event] })).body
    assert.equal(error.error_subcode, 2804001)
    assert.deepEqual(error.error_data.blame_field_specs, [['custom_data', member]])
  }
})

it('200 for contents and content_ids of valid shape, and without them', async test => {
  const simulator = await simulatorUnderTest(test)
  const right = [
    { contents: [{ id: 'a', quantity: 2, item_price: 9.95 }, { id: 7 }], content_ids: ['a', 7] },
    { content_type: 'home_listing' },
    { content_type: ['flight', 'hotel'] },
    { contents: [], content_ids: [] },
    { contents: null, content_ids: null },
    {},
  ]
  for (const members of right) {
    const event = samplePurchase({ custom_data: { ...MONEY, ...members } })
    assert.equal((await simulator.send({ data: [event] })).status, 200, JSON.stringify(members))
  }
})
