import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sampleCommerce, sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import type { OutboundEvent } from '../platform.ts'
import { metaPayload } from './payload.ts'

function textOf(changes: Partial<OutboundEvent>, testCode: string | null = null): string {
  return JSON.stringify(metaPayload([sampleOutboundEvent(changes)], testCode))
}

function customDataText(changes: Partial<OutboundEvent>): string | undefined {
  return /"custom_data":(\{.*\})\}\],"partner_agent"/.exec(textOf(changes))?.[1]
}

it('writes a purchase exactly as Meta documents it', () => {
  const text = textOf({
    digests: { em: ['a'.repeat(64), 'b'.repeat(64)], country: ['c'.repeat(64)] },
    plain: { client_user_agent: 'Mozilla/5.0', fbc: 'fb.1.1795262400000.AbC' },
    orderId: '1001',
    numItems: 3,
    contents: [{ id: 'sku-1', quantity: 2, item_price: 9.95 }, { id: 'sku-2' }],
  })
  const hashes = { a: 'a'.repeat(64), b: 'b'.repeat(64), c: 'c'.repeat(64) }
  assert.equal(
    text,
    '{"data":[{"event_name":"Purchase","event_time":1795262340,"event_id":"order-1001",' +
      '"action_source":"website","event_source_url":"https://shop.example/checkout",' +
      `"user_data":{"em":["${hashes.a}","${hashes.b}"],"country":["${hashes.c}"],` +
      '"client_user_agent":"Mozilla/5.0","fbc":"fb.1.1795262400000.AbC"},' +
      '"custom_data":{"value":19.90,"currency":"EUR","order_id":"1001","num_items":3,' +
      '"contents":[{"id":"sku-1","quantity":2,"item_price":9.95},{"id":"sku-2"}],' +
      '"content_ids":["sku-1","sku-2"]}}],' +
      '"partner_agent":"signalbox"}',
  )
})

it('writes parts of names and birth dates as one text, as the SDKs of Meta do', () => {
  const [one, two] = ['a'.repeat(64), 'b'.repeat(64)]
  const digests = { fn: [one], fi: [one], doby: [one, two] }
  assert.match(
    textOf({ digests, plain: {} }),
    new RegExp(`"user_data":{"fn":\\["${one}"\\],"fi":"${one}","doby":\\["${one}","${two}"\\]}`),
  )
})

it('writes money digit by digit, never as a float', () => {
  const amounts = ['19.90', '0.10', '0', '1000.000000', '123456789012345.678', '007.50', '-1.00']
  const written = amounts.map(valueAmount => customDataText({ valueAmount }))
  assert.deepEqual(written, [
    '{"value":19.90,"currency":"EUR"}',
    '{"value":0.10,"currency":"EUR"}',
    '{"value":0,"currency":"EUR"}',
    '{"value":1000.000000,"currency":"EUR"}',
    '{"value":123456789012345.678,"currency":"EUR"}',
    '{"value":7.50,"currency":"EUR"}',
    '{"value":-1.00,"currency":"EUR"}',
  ])
})

it('counts event_time in whole seconds and never rounds into the future', () => {
  for (const [moment, seconds] of [
    ['2026-11-21T12:00:00.000Z', 1_795_262_400],
    ['2026-11-21T12:00:00.999Z', 1_795_262_400],
    ['1970-01-01T00:00:00.000Z', 0],
  ] as const) {
    assert.match(textOf({ eventTime: new Date(moment) }), new RegExp(`"event_time":${seconds},`))
  }
})

it('asks Meta to choose no audience by a test purchase, and says nothing for other events', () => {
  assert.match(textOf({ optOut: true }), /"opt_out":true,"user_data"/)
  assert.doesNotMatch(textOf({}), /opt_out/)
})

it('writes predicted_ltv and net_revenue digit by digit, and a standard member before a custom one', () => {
  const commerce = sampleCommerce({
    predictedLifetimeValue: '123456789012345.678',
    netRevenue: '-0.10',
    customProperties: { value: 0, coupon: 'SPRING' },
  })
  assert.equal(
    customDataText({ commerce }),
    '{"value":19.90,"coupon":"SPRING","currency":"EUR",' +
      '"predicted_ltv":123456789012345.678,"net_revenue":-0.10}',
  )
})

it('leaves custom_data out when there is nothing to say', () => {
  const bare = { valueAmount: null, valueCurrency: null }
  assert.equal(textOf(bare).includes('custom_data'), false)
  assert.equal(customDataText({ ...bare, orderId: '7' }), '{"order_id":"7"}')
  assert.equal(customDataText({ ...bare, numItems: 0 }), '{"num_items":0}')
})

it('leaves event_source_url out when the event has none', () => {
  assert.equal(textOf({ eventSource: null }).includes('event_source_url'), false)
})

it('takes content IDs from the items, and says what they are only when the caller does', () => {
  const contents = [{ id: 'a' }, { id: 7, quantity: 2 }]
  const { custom_data } = JSON.parse(textOf({ contents })).data[0]
  assert.deepEqual(custom_data.content_ids, ['a', '7'])
  assert.deepEqual(custom_data.contents, contents)
  assert.equal('content_type' in custom_data, false)
  const typed = (contentTypes: string[]) =>
    JSON.parse(textOf({ contents, commerce: sampleCommerce({ contentTypes }) })).data[0].custom_data
  assert.equal(typed(['hotel']).content_type, 'hotel')
  assert.deepEqual(typed(['flight', 'hotel']).content_type, ['flight', 'hotel'])
  assert.equal(customDataText({ contents: [] })?.includes('content'), false)
})

it('sends an action source of the caller as other', () => {
  for (const actionSource of ['pos', 'kiosk', 'WEB', 'other'])
    assert.equal(JSON.parse(textOf({ actionSource })).data[0].action_source, 'other')
  assert.equal(JSON.parse(textOf({ actionSource: 'email' })).data[0].action_source, 'email')
})

it('puts the test code beside the data, and only when there is one', () => {
  assert.match(
    textOf({}, 'TEST12345'),
    /\],"partner_agent":"signalbox","test_event_code":"TEST12345"\}$/,
  )
  assert.equal(textOf({}).includes('test_event_code'), false)
})

it('keeps the order of a batch', () => {
  const ids = ['b', 'a', 'c']
  const payload = metaPayload(
    ids.map(eventId => sampleOutboundEvent({ eventId })),
    null,
  )
  const { data } = JSON.parse(JSON.stringify(payload))
  assert.deepEqual(
    data.map((event: { event_id: string }) => event.event_id),
    ids,
  )
})

it('names itself in fewer than 23 characters, as Meta wants it', () => {
  const { partner_agent } = metaPayload([], null) as { partner_agent: string }
  assert.ok(partner_agent.length < 23 && /[a-z].*[a-z]/.test(partner_agent))
})
