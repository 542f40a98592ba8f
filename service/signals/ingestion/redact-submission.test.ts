import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const EMAIL = 'Jane.Geheim@Mail-Example.com'
const PHONE = '+49 151 2345 6789'
const TOKEN = /^redacted_[0-9a-f]{32}$/

it('stores and sends a token for an address or a phone number in free text', async test => {
  const service = await startTestService(test)
  const value_data = {
    value: '1',
    currency: 'EUR',
    order_id: EMAIL,
    contents: [{ id: 'mug', title: `For ${EMAIL}`, note: { gift: PHONE } }],
    content_ids: [EMAIL],
    content_name: PHONE,
    search_string: encodeURIComponent(EMAIL),
    custom_properties: { buyer: EMAIL, [EMAIL]: 'key', list: [PHONE] },
  }
  const { body } = await service.submit(samplePurchase({ value_data }))
  const notices: Record<string, string>[] = body.notices
  assert.deepEqual(
    notices.map(({ code, field }) => [code, field]),
    [
      ['member_redacted', 'value_data.order_id'],
      ['member_redacted', 'value_data.contents[0].title'],
      ['member_redacted', 'value_data.contents[0].note.gift'],
      ['member_redacted', 'value_data.content_ids[0]'],
      ['member_redacted', 'value_data.content_name'],
      ['member_redacted', 'value_data.search_string'],
      ['member_redacted', 'value_data.custom_properties.buyer'],
      ['member_redacted', 'value_data.custom_properties.*'],
      ['member_redacted', 'value_data.custom_properties.list[0]'],
    ],
  )
  await service.deliver()
  const { event, deliveries } = (await service.read('order-1001')).body
  assert.match(event.order_id, TOKEN)
  assert.match(
    deliveries[0].explanation,
    /Identifiers replaced by tokens in: value_data\.order_id,/,
  )
  const { custom_data } = (await service.received()).events[0] as unknown as {
    custom_data: Record<string, unknown>
  }
  assert.equal(custom_data.order_id, event.order_id)
  assert.equal(custom_data.buyer, event.order_id)
  assert.deepEqual(custom_data.content_ids, [event.order_id])
  await assertNowhere(service, ['geheim', 'mail-example', '2345 6789', '23456789'])
})

it('keeps one token for an address in every spelling, and another one for another tracker', async test => {
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
  assert.notEqual(await orderIdOf(PHONE), token)
  assert.notEqual(await orderIdOf(EMAIL, other.trackerSecret), token)
})

it('answers a repeated body as a duplicate that does not differ', async test => {
  const service = await startTestService(test)
  const body = samplePurchase({ value_data: { value: '1', currency: 'EUR', order_id: EMAIL } })
  assert.equal((await service.submit(body)).status, 202)
  assert.equal((await service.submit(body)).status, 200)
  const { deliveries } = (await service.read('order-1001')).body
  assert.doesNotMatch(deliveries[0].explanation, /different body/)
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
      fc.constantFrom('@', '%40', '＠', '%2540', '\u200b@\u2060', '%E2%80%8B%40\u00ad'),
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
