import assert from 'node:assert/strict'
import { it } from 'node:test'
import { deliverPurchase } from '../../../testing/fixtures/deliveries.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

type Members = Record<string, unknown>

const EXTINFO = ['i2', 'com.shop.app', '1.0', '1.0.1', '26.1', 'iPhone17,1', ...Array(10).fill('')]

it('delivers opt_out and Limited Data Use as the caller sent them', async test => {
  const service = await startTestService(test)
  const cases: Record<string, unknown>[] = [
    { opt_out: true },
    {
      data_processing_options: ['LDU'],
      data_processing_options_country: 1,
      data_processing_options_state: 1_000,
    },
    { data_processing_options: ['LDU'], data_processing_options_state: 1_013 },
    { data_processing_options: [] },
  ]
  for (const [index, members] of cases.entries()) {
    const id = `restricted-${index}`
    const { other_members } = await deliverPurchase(service, members, id)
    for (const [name, value] of Object.entries(members)) {
      assert.deepEqual(other_members?.[name], value, name)
    }
    const { event } = (await service.read(id)).body
    assert.deepEqual(event.consent.restrictions, members)
  }
})

it('reads no restriction from a submitted consent', async test => {
  const service = await startTestService(test)
  const restrictions = { data_processing_options: [] }
  const consent = { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z', restrictions }
  await service.submit(samplePurchase({ consent }))
  assert.equal((await service.read('order-1001')).body.event.consent.restrictions, undefined)
})

it('returns 422 for invalid restrictions', async test => {
  const service = await startTestService(test)
  const ldu = 'data_processing_options'
  const cases: [Record<string, unknown>, string][] = [
    [{ opt_out: 'true' }, 'opt_out'],
    [{ [ldu]: 'LDU' }, ldu],
    [{ [ldu]: ['ldu'] }, `${ldu}.0`],
    [{ [ldu]: ['LDU', 'LDU'] }, ldu],
    [{ [ldu]: ['LDU'] }, `${ldu}_state`],
    [{ [`${ldu}_country`]: 1 }, `${ldu}_state`],
    [{ [`${ldu}_country`]: 2, [`${ldu}_state`]: 0 }, `${ldu}_country`],
    [{ [`${ldu}_state`]: 840 }, `${ldu}_state`],
    [{ [`${ldu}_state`]: 1_014 }, `${ldu}_state`],
    [{ [`${ldu}_state`]: '1000' }, `${ldu}_state`],
  ]
  for (const [members, field] of cases) {
    const { status, body } = await service.submit(samplePurchase(members))
    assert.equal(status, 422, JSON.stringify(members))
    assert.ok(Object.keys(body.errors).includes(field), JSON.stringify(body))
  }
  const located = { em: 'jane@example.com', ip: '198.51.100.7' }
  const reply = await service.submit(samplePurchase({ [ldu]: ['LDU'], user_data: located }))
  assert.equal(reply.status, 202)
})

it('takes any action source, says so, and delivers it as other', async test => {
  const service = await startTestService(test)
  for (const action_source of ['pos', 'Kiosk at the door', 'web', 'x'.repeat(50)]) {
    const reply = await service.submit(samplePurchase({ event_id: action_source, action_source }))
    assert.equal(reply.status, 202, reply.text)
    assert.deepEqual(
      reply.body.notices.map(({ field, code }: Record<string, string>) => [field, code]),
      [['action_source', 'member_dropped']],
    )
    assert.match(reply.body.notices[0].message, /sent as other/)
    const { event } = (await service.read(action_source)).body
    assert.equal(event.action_source, action_source.toLowerCase())
  }
  await service.deliver()
  const { events } = await service.received()
  const sent = events.map(one => (one as { other_members?: Members }).other_members?.action_source)
  assert.deepEqual([...new Set(sent)], ['other'])
  for (const action_source of ['Website', ' EMAIL ', 'Physical_Store', '', ' ']) {
    const event_id = `known-${action_source}`
    const reply = await service.submit(samplePurchase({ event_id, action_source }))
    assert.deepEqual(reply.body.notices, [], action_source)
  }
  const named = samplePurchase({ event_id: 'named', action_source: 'jane@example.com' })
  const [notice] = (await service.submit(named)).body.notices
  assert.deepEqual([notice.field, notice.code], ['action_source', 'member_dropped'])
  assert.equal((await service.read('named')).body.event.action_source, 'other')
  const long = await service.submit(samplePurchase({ action_source: 'x'.repeat(51) }))
  assert.deepEqual(Object.keys(long.body.errors), ['action_source'])
})

it('carries the WhatsApp business account, and names why partner IDs are not', async test => {
  const service = await startTestService(test)
  const user_data = {
    whatsapp_business_account_id: 1_234_567_890_123_456,
    ctwa_clid: 'click-1',
    partner_id: 'p-1',
    partnerName: 'liveramp.com',
  }
  const source = { action_source: 'business_messaging', messaging_channel: 'whatsapp' }
  const reply = await service.submit(samplePurchase({ event_id: 'order-1', ...source, user_data }))
  assert.deepEqual(
    reply.body.notices.map(({ field }: { field: string }) => field),
    ['user_data.partner_id', 'user_data.partnerName'],
  )
  assert.match(reply.body.notices[0].message, /partner/)
  await service.deliver()
  const { events } = await service.received()
  const sent = (events[0] as { user_data?: Record<string, unknown> }).user_data
  assert.equal(sent?.whatsapp_business_account_id, '1234567890123456')
})

it('returns 422 for commerce members out of bounds', async test => {
  const service = await startTestService(test)
  const deep = { a: { b: { c: { d: 1 } } } }
  const cases: [Record<string, unknown>, string][] = [
    [{ currency: 'FKE' }, 'currency'],
    [{ currency: 'xxx' }, 'currency'],
    [{ content_type: 'products' }, 'content_type'],
    [{ content_ids: Array(101).fill('a') }, 'content_ids'],
    [{ content_ids: [2 ** 53] }, 'content_ids.0'],
    [{ delivery_category: 'drone' }, 'delivery_category'],
    [{ predicted_ltv: 19.95 }, 'predicted_ltv'],
    [{ net_revenue: '1e3' }, 'net_revenue'],
    [{ search_string: 'x'.repeat(1_001) }, 'search_string'],
    [{ content_name: 'a\0' }, 'content_name'],
    [{ custom_properties: deep }, 'custom_properties'],
    [{ custom_properties: { a: Array(101).fill(1) } }, 'custom_properties'],
    [{ custom_properties: { a: 'x'.repeat(8_192) } }, 'custom_properties'],
    [{ custom_properties: { a: 2 ** 53 } }, 'custom_properties'],
    [{ custom_properties: { value: 0 } }, 'custom_properties.value'],
  ]
  for (const [members, field] of cases) {
    const value_data = { value: '1', currency: 'EUR', ...members }
    const { status, body } = await service.submit(samplePurchase({ value_data }))
    assert.equal(status, 422, field)
    assert.deepEqual(Object.keys(body.errors), [`value_data.${field}`])
  }
})

it('reads action_source in any case and stores it in lower case', async test => {
  const service = await startTestService(test)
  const { other_members } = await deliverPurchase(service, { action_source: 'Website' })
  assert.equal(other_members?.action_source, 'website')
  assert.equal((await service.read('order-1')).body.event.action_source, 'website')
})

it('delivers app events and message events with their companions, and 422 without them', async test => {
  const service = await startTestService(test)
  const app_data = { advertiser_tracking_enabled: true, extinfo: EXTINFO, vendor_id: 'v-1' }
  const app = await deliverPurchase(service, { action_source: 'APP', app_data }, 'of-app')
  assert.deepEqual(app.other_members?.app_data, app_data)
  const message = { action_source: 'business_messaging', messaging_channel: 'whatsapp' }
  const sent = await deliverPurchase(service, message, 'of-message')
  assert.equal(sent.other_members?.messaging_channel, 'whatsapp')
  const cases: [Record<string, unknown>, string][] = [
    [{ action_source: 'app' }, 'app_data'],
    [
      { action_source: 'App', app_data: { extinfo: EXTINFO } },
      'app_data.advertiser_tracking_enabled',
    ],
    [{ action_source: 'app', app_data: { advertiser_tracking_enabled: 1 } }, 'app_data.extinfo'],
    [{ app_data: { extinfo: ['i2'] } }, 'app_data.extinfo'],
    [{ app_data: { extinfo: Array(16).fill('x') } }, 'app_data.extinfo'],
    [{ action_source: 'business_messaging' }, 'messaging_channel'],
    [{ messaging_channel: 'telegram' }, 'messaging_channel'],
    [{ customer_segmentation: 'new' }, 'customer_segmentation'],
  ]
  for (const [members, field] of cases) {
    const { status, body } = await service.submit(samplePurchase(members))
    assert.equal(status, 422, JSON.stringify(members))
    assert.deepEqual(Object.keys(body.errors), [field])
  }
})

it('delivers the referrer without identifiers and keeps it out of the ledger', async test => {
  const service = await startTestService(test)
  const referrer_url = 'https://mail.example/inbox?utm_source=news&email=jane%40example.com'
  const reply = await service.submit(
    samplePurchase({
      referrer_url,
      advertiser_tracking_enabled: 0,
      customer_segmentation: SEGMENT,
    }),
  )
  assert.deepEqual(
    reply.body.notices.map(({ code, field }: Record<string, string>) => [code, field]),
    [['member_dropped', 'referrer_url (query.email)']],
  )
  await service.deliver()
  const [received] = (await service.received()).events as unknown as [Record<string, object>]
  const { other_members } = received as { other_members: Record<string, unknown> }
  const scrubbed = 'https://mail.example/inbox?utm_source=news&email=REDACTED'
  assert.equal(other_members.referrer_url, scrubbed)
  assert.equal(other_members.advertiser_tracking_enabled, false)
  assert.equal(other_members.customer_segmentation, SEGMENT)
  const { rows } = await service.database.pool.query('select events::text as row from events')
  assert.doesNotMatch(rows[0].row, /mail\.example/)
})

const SEGMENT = 'customer_in_loyalty_program'

it('drops a referrer that is no URL with a notice, and an empty one silently', async test => {
  const service = await startTestService(test)
  assert.deepEqual((await service.submit(samplePurchase({ referrer_url: '' }))).body.notices, [])
  const odd = await service.submit(samplePurchase({ event_id: 'odd', referrer_url: 'a page' }))
  assert.equal(odd.body.notices[0].field, 'referrer_url')
})

it('names members of value_data and app_data that it does not know', async test => {
  const service = await startTestService(test)
  const value_data = { value: '1', currency: 'EUR', coupon: 'SPRING', 'jane@example.com': 1 }
  const { body } = await service.submit(samplePurchase({ value_data, app_data: { color: 'red' } }))
  assert.deepEqual(
    body.notices.map(({ code, field }: Record<string, string>) => [code, field]),
    [
      ['member_dropped', 'value_data.coupon'],
      ['member_dropped', 'value_data.*'],
      ['member_dropped', 'app_data.color'],
    ],
  )
})
