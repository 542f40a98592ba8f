import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { BODY_DIGEST_BYTES } from '../events/event-record.ts'
import { findEventsById } from '../events/event-store.ts'
import { digestBody } from './idempotency.ts'

const EMAIL = 'Jane.Geheim@Mail-Example.com'
const PHONE = '+49 151 2345 6789'
const TOKEN = /^redacted_[0-9a-f]{32}$/

it('stores a token for an address or a phone number in free text and sends neither', async test => {
  const service = await startTestService(test)
  const value_data = {
    value: '1',
    currency: 'EUR',
    order_id: EMAIL,
    contents: [
      { id: 'mug', title: `For ${EMAIL}`, note: { gift: PHONE, wrap: 'red' } },
      { id: EMAIL, title: 'Cup' },
    ],
    content_ids: [EMAIL, 'mug'],
    content_name: PHONE,
    content_category: 'Mugs',
    search_string: encodeURIComponent(EMAIL),
    custom_properties: {
      buyer: EMAIL,
      [EMAIL]: 'key',
      list: [PHONE, 'kept'],
      phones: [PHONE],
      shop: { name: 'North', owner: { mail: EMAIL } },
    },
  }
  const app_data = { vendor_id: EMAIL, extinfo: ['a2', EMAIL, ...Array(14).fill('1')] }
  const { body } = await service.submit(samplePurchase({ value_data, app_data }))
  const notices: Record<string, string>[] = body.notices
  assert.deepEqual(
    notices.map(({ code, field }) => [code, field]),
    [
      'value_data.order_id',
      'value_data.contents[0].title',
      'value_data.contents[0].note.gift',
      'value_data.contents[1].id',
      'value_data.content_ids[0]',
      'value_data.content_name',
      'value_data.search_string',
      'value_data.custom_properties.buyer',
      'value_data.custom_properties.*',
      'value_data.custom_properties.list[0]',
      'value_data.custom_properties.phones[0]',
      'value_data.custom_properties.shop.owner.mail',
      'app_data.vendor_id',
      'app_data.extinfo[1]',
    ].map(field => ['member_redacted', field]),
  )
  assert.match(notices[0]?.message ?? '', /no platform gets the field/)
  await service.deliver()
  const { event, deliveries } = (await service.read('order-1001')).body
  assert.match(event.order_id, TOKEN)
  assert.match(
    deliveries[0].explanation,
    /Identifiers replaced by tokens, which no platform gets, in: value_data\.order_id,/,
  )
  const sent = await onlySent(service)
  assert.deepEqual(sent.custom_data, {
    value: 1,
    currency: 'EUR',
    contents: [{ id: 'mug', note: { wrap: 'red' } }],
    content_ids: ['mug'],
    content_category: 'Mugs',
    list: ['kept'],
    shop: { name: 'North' },
  })
  const others = sent.other_members as { app_data: unknown }
  assert.deepEqual(others.app_data, { extinfo: ['a2', '', ...Array(14).fill('1')] })
  assert.doesNotMatch(JSON.stringify(sent), /redacted_/)
  await assertNowhere(service, ['geheim', 'mail-example', '2345 6789', '23456789'])
})

it('keeps one token for an order ID in every spelling, and another for another tracker', async test => {
  const service = await startTestService(test)
  const other = await service.newTracker()
  const orderIdOf = async (order_id: string, secret?: string) => {
    const event_id = `of-${order_id.length}-${order_id.charCodeAt(0)}-${secret?.length ?? 0}`
    const body = samplePurchase({ event_id, value_data: { value: '1', currency: 'EUR', order_id } })
    const credential = secret === undefined ? {} : { secret }
    await service.request('POST', '/api/v1/events', { body, ...credential })
    const reply = await service.request('GET', `/api/v1/events/${event_id}`, credential)
    return reply.body.event.order_id
  }
  const token = await orderIdOf(EMAIL)
  assert.match(token, TOKEN)
  assert.equal(await orderIdOf(EMAIL.toLowerCase()), token)
  assert.equal(await orderIdOf(encodeURIComponent(EMAIL)), token)
  assert.equal(await orderIdOf(token), token)
  assert.notEqual(await orderIdOf(PHONE), token)
  assert.notEqual(await orderIdOf(EMAIL, other.trackerSecret), token)
})

it('makes other tokens for each event, and one for an address that an event has twice', async test => {
  const service = await startTestService(test)
  const tokens: string[][] = []
  for (const event_id of ['first', 'second']) {
    const value_data = {
      value: '1',
      currency: 'EUR',
      content_name: EMAIL,
      search_string: EMAIL.toUpperCase(),
      order_id: EMAIL,
    }
    await service.submit(samplePurchase({ event_id, value_data }))
    const { content_name, search_string, order_id } = await storedValue(service, event_id)
    assert.match(content_name, TOKEN)
    assert.equal(search_string, content_name)
    assert.notEqual(order_id, content_name)
    tokens.push([content_name, order_id])
  }
  assert.notEqual(tokens[0]?.[0], tokens[1]?.[0])
  assert.equal(tokens[0]?.[1], tokens[1]?.[1])
})

it('replaces a token that the caller read and sends again', async test => {
  const service = await startTestService(test)
  const token = `redacted_${'0123456789abcdef'.repeat(2)}`
  const value_data = { value: '1', currency: 'EUR', order_id: token, content_name: token }
  const { body } = await service.submit(samplePurchase({ value_data }))
  assert.deepEqual(
    body.notices.map(({ field }: { field: string }) => field),
    ['value_data.order_id', 'value_data.content_name'],
  )
  const stored = await storedValue(service, 'order-1001')
  assert.equal(stored.order_id, token)
  assert.match(stored.content_name, TOKEN)
  assert.notEqual(stored.content_name, token)
  await service.deliver()
  assert.doesNotMatch(JSON.stringify(await onlySent(service)), /redacted_/)
})

async function onlySent(service: TestService): Promise<Record<string, unknown>> {
  const { count, events } = await service.received()
  assert.equal(count, 1)
  return events[0] as unknown as Record<string, unknown>
}

async function storedValue(service: TestService, eventId: string) {
  const [event] = await findEventsById(service.database, service.tracker.trackerId, [eventId])
  return event?.valueData as Record<'order_id' | 'content_name' | 'search_string', string>
}

it('compares a repeated body before its identifiers are replaced', async test => {
  const service = await startTestService(test)
  const bodyOf = (name: string) =>
    samplePurchase({
      value_data: { value: '1', currency: 'EUR', order_id: EMAIL, content_name: name },
    })
  const differs = [{ code: 'differs_from_stored', field: 'event_id' }]
  const submit = async (name: string) => {
    const { status, body } = await service.submit(bodyOf(name))
    return [status, body.notices ?? []]
  }
  assert.equal((await submit(EMAIL))[0], 202)
  assert.deepEqual(await submit(EMAIL), [200, []])
  const [status, notices] = await submit(EMAIL.replace('Jane', 'John'))
  assert.equal(status, 200)
  assert.partialDeepStrictEqual(notices, differs)

  // Earlier versions took the digest from a body with keyed tokens.
  const token = (await service.read('order-1001')).body.event.order_id
  const { trackerId } = service.tracker
  const digest = digestBody(
    samplePurchase({
      value_data: { value: '1', currency: 'EUR', order_id: token, content_name: token },
    }),
    { trackerId, eventId: 'order-1001' },
  )
  await service.database.pool.query('update events set body_digest = $1::bytea', [
    digest.subarray(0, BODY_DIGEST_BYTES),
  ])
  assert.deepEqual(await submit(EMAIL), [200, []])
  assert.partialDeepStrictEqual((await submit(PHONE))[1], differs)
})

it('returns 422 for an identifier in the name or an ID of an event', async test => {
  const service = await startTestService(test)
  for (const text of [EMAIL, encodeURIComponent(EMAIL), PHONE, `Order ${EMAIL}`]) {
    for (const name of ['event_name', 'event_id', 'parent_event_id']) {
      const { status, body } = await service.submit(samplePurchase({ [name]: text }))
      assert.equal(status, 422)
      const message = `The ${name} field must hold no email address or phone number.`
      assert.deepEqual(body, { message, errors: { [name]: [message] } })
    }
  }
  const bare = samplePurchase({ event_id: undefined })
  const { status, body } = await service.submit(bare, { 'idempotency-key': EMAIL })
  assert.equal(status, 422)
  assert.deepEqual(Object.keys(body.errors), ['Idempotency-Key'])
  await assertNowhere(service, ['geheim'])
})

it('drops a user agent that names an address', async test => {
  const service = await startTestService(test)
  const user_data = { em: 'a@b.example', client_user_agent: `Robot/1.0 (${EMAIL})` }
  const { body } = await service.submit(samplePurchase({ user_data }))
  assert.deepEqual(
    body.notices.map(({ field }: { field: string }) => field),
    ['user_data.client_user_agent'],
  )
  await service.deliver()
  await assertNowhere(service, ['geheim'])
})

it('replaces an address in the order ID of a test purchase', async test => {
  const service = await startTestService(test)
  const { destinationId } = service.tracker
  const path = `/api/v1/destinations/${destinationId}`
  await service.request('PATCH', `${path}/test-mode`, { body: { enabled: true } })
  const body = { order_id: EMAIL, currency: 'eur' }
  const reply = await service.request('POST', `${path}/test-purchase`, { body })
  assert.equal(reply.status, 200, reply.text)
  const wrong = await service.request('POST', `${path}/test-purchase`, {
    body: { currency: 'FKE' },
  })
  assert.deepEqual(Object.keys(wrong.body.errors), ['currency'])
  await assertNowhere(service, ['geheim'])
})

it('lets no address through in any member that travels', async test => {
  const service = await startTestService(test)
  const marker = 'qzxgeheim'
  const address = fc
    .tuple(
      fc.stringMatching(/^[a-z0-9.+_-]{0,8}$/),
      fc.constantFrom(
        ...['@', '%40', '＠', '%2540', '\u200b@\u2060', '%E2%80%8B%40\u00ad'],
        ...['&#64;', '&#x40;', '&commat;', '\\u0040', '%u0040', '%26%2364%3B'],
      ),
    )
    .map(([local, at]) => `${marker}${local.replace(/\.+$/, '')}${at}mail.example`)
  const text = fc
    .tuple(fc.string({ maxLength: 5 }), address, fc.constantFrom('', ' ', ', more', '/x', '"'))
    .map(parts => parts.join(' '))
  const extinfo = text.map(one => ['a2', 'p', '1', '1', '15', one, ...Array(10).fill('')])
  const members = fc.record({
    order_id: text,
    contents: fc.array(fc.dictionary(fc.oneof(text, fc.constant('title')), text, { maxKeys: 2 })),
    content_ids: fc.array(text, { maxLength: 2 }),
    content_name: text,
    content_category: text,
    search_string: text,
    status: text,
    custom_properties: fc.dictionary(text, fc.oneof(text, fc.array(text)), { maxKeys: 2 }),
  })
  let count = 0
  const submissions = fc.tuple(members, extinfo, text)
  const property = fc.asyncProperty(submissions, async ([value, info, url]) => {
    count += 1
    const body = samplePurchase({
      event_id: `event-${count}`,
      value_data: { value: '1', currency: 'EUR', ...value },
      app_data: { extinfo: info, vendor_id: url },
      action_source: url.trim().slice(0, 50),
      referrer_url: `https://shop.example/?q=${encodeURIComponent(url)}`,
    })
    const reply = await service.submit(body)
    assert.equal(reply.status, 202, reply.text)
  })
  await fc.assert(property, { numRuns: 60 })
  await service.deliver()
  assert.equal((await service.received()).count, count)
  await assertNowhere(service, [marker])
})

/** Neither the store nor the platform nor the log holds one of these texts. */
async function assertNowhere(service: TestService, traces: string[]): Promise<void> {
  const { pool } = service.database
  const { rows: tables } = await pool.query(
    `select relname as name, relnamespace::regnamespace as schema from pg_class
     where relkind = 'r' and relnamespace::regnamespace::text in ('public', 'signalbox_store')`,
  )
  const texts = [JSON.stringify(await service.received()), service.logged()]
  for (const { name, schema } of tables) {
    const { rows } = await pool.query(`select t::text as row from "${schema}"."${name}" t`)
    texts.push(...rows.map(({ row }) => row))
  }
  const all = texts.join('\n').toLowerCase()
  for (const trace of traces) {
    const at = all.indexOf(trace)
    assert.equal(at, -1, `found: ${all.slice(Math.max(0, at - 40), at + 60)}`)
  }
}
