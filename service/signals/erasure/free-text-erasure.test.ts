import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { dumpAsText } from '../../../testing/fixtures/database-dump.ts'
import {
  HOLD_SECONDS,
  listReceivedIds,
  readDelivery,
  samplePageOrder,
  sendFromPage,
  startShop,
} from '../../../testing/fixtures/page-events.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import { expirePayloads } from '../retention/expire-payloads.ts'

const EMAIL = 'Jane.Geheim@mail.example'
const DIGEST = hash('sha256', EMAIL.toLowerCase())
const PHONE = '+49 151 2345 6789'
const TOKEN = /redacted_[0-9a-f]{32}/
const NO_PERSON = { user_data: {}, visitor_id: undefined }

type ValueData = Record<string, unknown>

function purchase(event_id: string, value_data: ValueData, other: Record<string, unknown> = {}) {
  const value = { value: '1', currency: 'EUR', ...value_data }
  return samplePurchase({ ...NO_PERSON, event_id, value_data: value, ...other })
}

async function submit(service: TestService, body: unknown): Promise<void> {
  const reply = await service.submit(body)
  assert.equal(reply.status, 202, reply.text)
}

async function forget(service: TestService, identifier_hash: string, more = {}): Promise<number> {
  const body = { identifier_hash, ...more }
  const reply = await service.request('DELETE', '/api/v1/user-data', { body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body.events_updated
}

async function isErased(service: TestService, eventId: string): Promise<boolean> {
  const { event } = (await service.read(eventId)).body
  assert.equal(TOKEN.test(JSON.stringify(event)), !event.payload_expired)
  return event.payload_expired
}

it('erases events that name the person in free text only, with their tokens', async test => {
  const service = await startTestService(test)
  const places: Record<string, ValueData> = {
    order: { order_id: `Order of ${EMAIL}` },
    item: { contents: [{ id: 'mug', note: { gift: EMAIL.toUpperCase() } }], order_id: EMAIL },
    property: { custom_properties: { list: [{ [EMAIL]: 1 }] }, order_id: EMAIL },
    encoded: { search_string: encodeURIComponent(EMAIL), order_id: EMAIL },
    wide: { content_name: EMAIL.replace('@', '\u200b＠'), order_id: EMAIL },
    marked: { content_name: `*${EMAIL}* (urgent)`, order_id: EMAIL },
    second: { content_name: `john@mail.example, ${EMAIL}`, order_id: EMAIL },
    amount: { value: '0019.950', order_id: EMAIL, content_name: EMAIL },
  }
  for (const [id, value] of Object.entries(places)) await submit(service, purchase(id, value))
  await submit(service, purchase('other', { order_id: 'john@mail.example' }))
  assert.equal(await forget(service, DIGEST), Object.keys(places).length)
  for (const id of Object.keys(places)) assert.equal(await isErased(service, id), true, id)
  assert.equal(await isErased(service, 'other'), false)
  const { event, deliveries } = (await service.read('order')).body
  assert.equal(event.order_id, 'Order of redacted')
  assert.equal(deliveries[0].status, 'skipped:consent')
  const dump = await dumpAsText(service.database)
  assert.equal(
    dump.match(new RegExp(TOKEN, 'g'))?.length ?? 0,
    countOf(dump, await tokenOf(service)),
  )
})

/** The token of the one event that stays. */
async function tokenOf(service: TestService): Promise<string> {
  return (await service.read('other')).body.event.order_id
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1
}

it('finds other forms of an address, phone numbers, and an address in a URL', async test => {
  const service = await startTestService(test)
  await submit(service, purchase('dots', { order_id: 'J.Geheim@gmail.com' }))
  await submit(service, purchase('phone', { order_id: PHONE }))
  const url = `https://shop.example/p?mail=${encodeURIComponent(EMAIL)}`
  await submit(service, purchase('url', { order_id: '7' }, { event_source: url }))
  await submit(service, purchase('unicode', { order_id: 'jürgen@bücher.example' }))
  assert.equal(await forget(service, hash('sha256', 'jgeheim@gmail.com')), 1)
  assert.equal(await forget(service, hash('sha256', '4915123456789')), 1)
  assert.equal(await forget(service, DIGEST, { identifier_type: 'email' }), 1)
  assert.equal(await forget(service, hash('sha256', 'jürgen@bücher.example')), 1)
  for (const id of ['dots', 'phone', 'url', 'unicode']) {
    assert.equal((await service.read(id)).body.event.payload_expired, true, id)
  }
})

it('removes the tokens of events whose payloads expire, by which they are found', async test => {
  const service = await startTestService(test)
  const { database, clock } = service
  await submit(service, purchase('default', { order_id: EMAIL, content_name: EMAIL }))
  clock.advance(DAY_SECONDS)
  await ensurePartitions(database, clock.now(), 2)
  await submit(service, purchase('partition', { value: '0019.950', order_id: EMAIL }))
  await submit(service, purchase('other', { order_id: '7' }))
  clock.advance(DAY_SECONDS)
  await submit(service, purchase('kept', { order_id: EMAIL }))
  clock.advance(90 * DAY_SECONDS)
  await expirePayloads({ database, now: clock.now(), payloadDays: 90 })
  for (const id of ['default', 'partition']) {
    assert.equal(await isErased(service, id), true)
    assert.equal((await service.read(id)).body.event.order_id, 'redacted')
  }
  assert.equal(await isErased(service, 'kept'), false)
  assert.equal((await service.read('other')).body.event.order_id, '7')
})

it('stores an event that names an erased person in free text without identity', async test => {
  const service = await startTestService(test)
  await forget(service, DIGEST)
  await submit(service, purchase('later', { order_id: EMAIL, content_name: EMAIL }))
  assert.equal(await isErased(service, 'later'), true)
  const { event, deliveries } = (await service.read('later')).body
  assert.equal(event.order_id, 'redacted')
  assert.equal(deliveries[0].status_reason ?? deliveries[0].status, 'skipped:consent')
  await service.deliver()
  assert.equal((await service.received()).count, 0)
})

it('leaves the other events of a visitor whose event names a third person', async test => {
  const service = await startTestService(test)
  const john = { visitor_id: 'visitor-2', user_data: { em: 'john@mail.example' } }
  await submit(service, samplePurchase({ event_id: 'view', ...john, user_data: {} }))
  await submit(service, purchase('gift', { content_name: EMAIL }, john))
  assert.equal(await forget(service, DIGEST), 1)
  assert.equal((await service.read('view')).body.event.payload_expired, false)

  const jane = { visitor_id: 'visitor-3' }
  await submit(service, samplePurchase({ event_id: 'of-jane', ...jane, user_data: {} }))
  await submit(service, samplePurchase({ event_id: 'of-john', ...john, ...jane }))
  await submit(service, purchase('by-phone', { order_id: PHONE }, jane))
  assert.equal(await forget(service, hash('sha256', '4915123456789')), 2)
  assert.equal((await service.read('of-john')).body.event.payload_expired, false)
})

it('erases a held event of a page that names the person in free text', async test => {
  const service = await startShop(test, { sharesIds: false })
  const value_data = { value: '1', currency: 'EUR', order_id: '7', content_name: EMAIL }
  const john = { visitor_id: undefined, user_data: { em: 'john@mail.example' } }
  await sendFromPage(service, samplePageOrder('erased', '1', { ...john, value_data }))
  await sendFromPage(service, samplePageOrder('sent', '1', john))
  await service.deliver()
  assert.equal((await readDelivery(service, 'erased', 'publishable')).status, 'queued')
  assert.equal(await forget(service, DIGEST), 1)
  assert.equal((await readDelivery(service, 'erased', 'publishable')).status, 'skipped:consent')
  service.clock.advance(HOLD_SECONDS)
  await service.deliver()
  assert.deepEqual(await listReceivedIds(service), ['p.sent'])
})

it('sends no order ID of a held page event that was an address, also with the prefix', async test => {
  const service = await startShop(test, { sharesIds: false })
  const value_data = { value: '1', currency: 'EUR', order_id: EMAIL, content_name: EMAIL }
  await sendFromPage(service, samplePageOrder('held', '1', { value_data }))
  service.clock.advance(HOLD_SECONDS)
  await service.deliver()
  const { count, events } = await service.received()
  assert.equal(count, 1)
  assert.equal(String(events[0]?.event_id), 'p.held')
  assert.doesNotMatch(JSON.stringify(events), /redacted_|order_id/)
})

it('withholds events of a person who withdrew and is named in free text only', async test => {
  const service = await startTestService(test)
  await submit(service, purchase('before', { order_id: EMAIL }))
  const withdrawal = {
    event_name: 'consent_withdrawal',
    consent_basis: 'consent',
    event_id: 'withdrawal',
    user_data: { em: EMAIL },
  }
  await submit(service, withdrawal)
  service.clock.advance(1)
  await submit(service, purchase('after', { content_name: EMAIL }))
  await submit(service, purchase('other', { order_id: '8' }, { user_data: { em: 'b@b.example' } }))
  await service.deliver()
  for (const id of ['before', 'after']) {
    const { deliveries } = (await service.read(id)).body
    assert.equal(deliveries[0].status, 'skipped:consent', id)
    assert.match(deliveries[0].explanation, /withdrew consent/)
  }
  assert.equal((await service.received()).count, 1)
})

it('keeps twenty identifiers of an event and says when there are more', async test => {
  const service = await startTestService(test)
  const names = Array.from({ length: 25 }, (_, number) => `p${number}@mail.example`)
  const value_data = { content_name: names.join(' '), order_id: EMAIL, value: '1', currency: 'EUR' }
  const reply = await service.submit(samplePurchase({ ...NO_PERSON, value_data }))
  assert.equal(reply.status, 202)
  const [dropped] = reply.body.notices.filter(({ code }: { code: string }) => {
    return code === 'member_dropped'
  })
  assert.equal(dropped.field, 'value_data.content_name')
  assert.match(dropped.message, /more than 20 email addresses/)
  assert.match((await service.read('order-1001')).body.deliveries[0].explanation, /more than 20/)
  assert.equal(await forget(service, hash('sha256', 'p24@mail.example')), 0)
  assert.equal(await forget(service, DIGEST), 1)
})
