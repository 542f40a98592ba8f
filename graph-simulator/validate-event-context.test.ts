import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from './sample-event.ts'
import { simulatorUnderTest } from './simulator-under-test.ts'

const EXTINFO = ['a2', ...Array(15).fill('')]
const OPTIONS = 'data_processing_options'

it('400 names the optional member that is malformed', async test => {
  const simulator = await simulatorUnderTest(test)
  const wrong: [Record<string, unknown>, string][] = [
    [{ opt_out: 'true' }, 'opt_out'],
    [{ [OPTIONS]: ['XYZ'] }, OPTIONS],
    [{ [OPTIONS]: 'LDU' }, OPTIONS],
    [{ [`${OPTIONS}_country`]: 2, [`${OPTIONS}_state`]: 0 }, `${OPTIONS}_country`],
    [{ [`${OPTIONS}_country`]: 1 }, `${OPTIONS}_state`],
    [{ [`${OPTIONS}_state`]: 840 }, `${OPTIONS}_state`],
    [{ referrer_url: 7 }, 'referrer_url'],
    [{ messaging_channel: 'telegram' }, 'messaging_channel'],
    [{ customer_segmentation: 'new' }, 'customer_segmentation'],
    [{ advertiser_tracking_enabled: 'yes' }, 'advertiser_tracking_enabled'],
    [{ original_event_data: { event_time: '1' } }, 'original_event_data'],
    [{ app_data: [] }, 'app_data'],
    [{ app_data: { extinfo: ['a2'] } }, 'app_data'],
    [{ app_data: { extinfo: Array(16).fill('') } }, 'app_data'],
  ]
  for (const [members, field] of wrong) {
    const { status, body } = await simulator.send({ data: [samplePurchase(members)] })
    assert.equal(status, 400, field)
    assert.deepEqual(body.error.error_data.blame_field_specs, [[field]])
  }
})

it('200 for optional members as Meta documents them', async test => {
  const simulator = await simulatorUnderTest(test)
  const event = samplePurchase({
    opt_out: false,
    [OPTIONS]: ['LDU'],
    [`${OPTIONS}_country`]: 1,
    [`${OPTIONS}_state`]: 1_013,
    referrer_url: 'https://search.example/',
    messaging_channel: 'whatsapp',
    customer_segmentation: 'existing_customer_to_product_area',
    advertiser_tracking_enabled: 1,
    original_event_data: { event_name: 'Lead', event_time: 1, order_id: '7', event_id: 'a' },
    app_data: { extinfo: EXTINFO },
  })
  assert.equal((await simulator.send({ data: [event] })).status, 200)
  const absent = { opt_out: null, [OPTIONS]: null, app_data: null, original_event_data: null }
  assert.equal((await simulator.send({ data: [samplePurchase(absent)] })).status, 200)
})

it('400 for a currency, content type or delivery category that does not exist', async test => {
  const simulator = await simulatorUnderTest(test)
  for (const [member, value] of [
    ['currency', 'FKE'],
    ['currency', 'XXX'],
    ['content_type', 'products'],
    ['delivery_category', 'drone'],
  ] as const) {
    const event = samplePurchase({ custom_data: { value: 1, currency: 'EUR', [member]: value } })
    const { error } = (await simulator.send({ data: [event] })).body
    assert.deepEqual(error.error_data.blame_field_specs, [['custom_data', member]], value)
  }
})
