import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { dumpAsText, findEmailTraces } from '../../../testing/fixtures/database-dump.ts'
import { sendFromPage } from '../../../testing/fixtures/page-events.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  type Reply,
  type RequestOptions,
  startTestService,
  type TestService,
} from '../../../testing/fixtures/service.ts'

const PATH = '/api/v1/user-data'
const EMAIL = 'jane@example.com'
const DIGEST = hash('sha256', EMAIL)

function forget(
  service: TestService,
  body: unknown = { identifier_hash: DIGEST },
  options: RequestOptions = {},
): Promise<Reply> {
  return service.request('DELETE', PATH, { body, ...options })
}

async function isForgotten(service: TestService, eventId: string): Promise<boolean> {
  return (await service.read(eventId)).body.event.payload_expired
}

it('keeps the event and its value and removes the identity', async test => {
  const service = await startTestService(test)
  const clicked = {
    event_source: 'https://shop.example/checkout?fbclid=AbC123#top',
    click_ids: { gclid: 'gclid-1' },
  }
  await service.submit(samplePurchase(clicked))
  assert.ok(findEmailTraces(EMAIL, DIGEST, await dumpAsText(service.database)).length > 0)
  service.clock.advance(60)
  const reply = await forget(service)
  assert.equal(reply.status, 200)
  const { deletion_request_id, ...rest } = reply.body
  assert.match(deletion_request_id, /^del_[0-9a-f-]{36}$/)
  assert.deepEqual(rest, {
    duplicate: false,
    events_updated: 1,
    sessions_updated: 1,
    completed_at: '2026-11-21T12:01:00.000Z',
  })
  const { event } = (await service.read('order-1001')).body
  assert.partialDeepStrictEqual(event, {
    event_name: 'Purchase',
    value_amount: 19.95,
    order_id: '1001',
    event_source: 'https://shop.example/checkout',
    payload_expired: true,
    user_data_hashed: {},
    click_ids: {},
    session: null,
  })
  assert.equal(event.consent.decision.outcome, 'granted')
  const stored = await dumpAsText(service.database)
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, stored), [])
  for (const trace of ['visitor-1', 'Mozilla', 'gclid-1', 'AbC123']) {
    assert.ok(!stored.includes(trace), trace)
  }
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, service.logged()), [])
})

it('deletes the clicks of a visitor that pages and the secret named', async test => {
  const service = await startTestService(test)
  const visit = { event_name: 'PageView', value_data: undefined }
  await sendFromPage(
    service,
    samplePurchase({
      ...visit,
      event_id: 'page',
      user_data: undefined,
      event_source: 'https://shop.example/?fbclid=OfPage9',
    }),
  )
  await service.submit(samplePurchase({ click_ids: { fbclid: 'OfSecret9' } }))
  const before = await dumpAsText(service.database)
  for (const trace of ['OfPage9', 'OfSecret9']) assert.ok(before.includes(trace), trace)
  assert.equal((await forget(service)).body.sessions_updated, 1)
  const { rows } = await service.database.pool.query('select * from sessions')
  assert.deepEqual(rows, [])
  assert.ok(!(await dumpAsText(service.database)).includes('OfSecret9'))
})

it('keeps the data of other people and other trackers', async test => {
  const service = await startTestService(test)
  const john = { visitor_id: 'visitor-2', user_data: { em: 'john@example.com' } }
  await service.submit(samplePurchase({ event_id: 'of-john', ...john }))
  await service.submit(samplePurchase())
  const { trackerSecret: secret } = await service.newTracker()
  await service.request('POST', '/api/v1/events', { secret, body: samplePurchase() })
  const ofJohn = (await service.read('of-john')).text
  const reply = await forget(service)
  assert.deepEqual([reply.body.events_updated, reply.body.sessions_updated], [1, 1])
  assert.equal((await service.read('of-john')).text, ofJohn)
  const theirs = await service.request('GET', '/api/v1/events/order-1001', { secret })
  assert.deepEqual(theirs.body.event.user_data_hashed.em, [DIGEST])
  assert.equal(theirs.body.event.session.visitor_id, 'visitor-1')

  const own = await forget(service, { identifier_hash: DIGEST }, { secret })
  assert.deepEqual([own.body.duplicate, own.body.events_updated], [false, 1])
  assert.notEqual(own.body.deletion_request_id, reply.body.deletion_request_id)
})

it('returns 200 with a receipt for an unknown person', async test => {
  const service = await startTestService(test)
  const reply = await forget(service)
  assert.deepEqual([reply.status, reply.body.events_updated], [200, 0])
  assert.deepEqual([reply.body.sessions_updated, reply.body.duplicate], [0, false])
})

it('returns the same receipt in any letter case and erases newer events', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  const first = await forget(service)
  service.clock.advance(3_600)
  // Stores an event as a process without the suppression would.
  await service.database.pool.query('delete from erased_identifiers')
  await service.submit(samplePurchase({ event_id: 'since' }))
  const again = await forget(service, { identifier_hash: DIGEST.toUpperCase() })
  assert.deepEqual(again.body, {
    deletion_request_id: first.body.deletion_request_id,
    duplicate: true,
    events_updated: 1,
    sessions_updated: 1,
    completed_at: '2026-11-21T13:00:00.000Z',
  })
  assert.equal(await isForgotten(service, 'since'), true)
})

it('searches only the requested identifier type', async test => {
  const service = await startTestService(test)
  const people: Record<string, [user_data: Record<string, string>, identifier: string]> = {
    email: [{ em: EMAIL }, EMAIL],
    phone: [{ ph: '+49 1512 3456789' }, '4915123456789'],
    external_id: [{ external_id: 'Customer-9' }, 'customer-9'],
  }
  for (const [kind, [user_data]] of Object.entries(people)) {
    await service.submit(samplePurchase({ event_id: kind, visitor_id: kind, user_data }))
  }
  for (const [kind, [, identifier]] of Object.entries(people)) {
    const identifier_hash = hash('sha256', identifier)
    for (const other of Object.keys(people).filter(name => name !== kind)) {
      const reply = await forget(service, { identifier_hash, identifier_type: other })
      assert.equal(reply.body.events_updated, 0, `${kind} as ${other}`)
    }
    const reply = await forget(service, { identifier_hash, identifier_type: kind })
    assert.equal(reply.body.events_updated, 1, kind)
    assert.equal(await isForgotten(service, kind), true)
  }
})

it('finds a person by visitor ID alone', async test => {
  const service = await startTestService(test)
  for (const [visitor_id, identifier] of [
    [' Jane@Example.com', EMAIL],
    ['+49 1512 3456789', '4915123456789'],
    ['Customer-9', 'customer-9'],
    [hash('sha256', 'hashed by the caller').toUpperCase(), 'hashed by the caller'],
  ] as const) {
    // An event ID must not hold an email address.
    const event_id = `of ${identifier.replace('@', ' at ')}`
    await service.submit(samplePurchase({ event_id, visitor_id, user_data: undefined }))
    const reply = await forget(service, { identifier_hash: hash('sha256', identifier) })
    assert.deepEqual([reply.body.events_updated, reply.body.sessions_updated], [1, 1], visitor_id)
    assert.equal(await isForgotten(service, event_id), true)
  }
})

it('erases anonymous events of the same visitor and keeps other people of that browser', async test => {
  const service = await startTestService(test)
  const submit = (event_id: string, changes: object) =>
    service.submit(samplePurchase({ event_id, ...changes }))
  await submit('named', {})
  await submit('before', { user_data: { client_user_agent: 'Mozilla/5.0' } })
  await submit('by-phone', { user_data: { ph: '+49 1512 3456789' } })
  await submit('two-names', { user_data: { em: ['old@example.com', EMAIL] } })
  await submit('other-person', { user_data: { em: 'john@example.com' } })
  await submit('elsewhere', { visitor_id: 'visitor-2', user_data: {} })
  const { events_updated, sessions_updated } = (await forget(service)).body
  assert.deepEqual([events_updated, sessions_updated], [4, 1])
  for (const [event_id, forgotten] of [
    ...['named', 'before', 'by-phone', 'two-names'].map(id => [id, true] as const),
    ...['other-person', 'elsewhere'].map(id => [id, false] as const),
  ]) {
    assert.equal(await isForgotten(service, event_id), forgotten, event_id)
  }
})

it('deletes a withdrawal under the digest and keeps it under other keys', async test => {
  const service = await startTestService(test)
  await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'consent',
    consent: { ad_user_data: 'denied' },
    visitor_id: 'visitor-1',
    user_data: { em: EMAIL },
  })
  await forget(service)
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, await dumpAsText(service.database)), [])
  await service.submit(samplePurchase({ user_data: { client_user_agent: 'Mozilla/5.0' } }))
  const [delivery] = (await service.read('order-1001')).body.deliveries
  assert.equal(delivery.status, 'skipped:consent')
  assert.match(delivery.explanation, /withdrew consent/)
})

it('deletes withdrawals under a raw visitor ID without a payload', async test => {
  const service = await startTestService(test)
  const withdraw = (visitor_id: string) =>
    service.submit({
      event_name: 'consent_withdrawal',
      consent_basis: 'legitimate_interest',
      visitor_id,
    })
  const others = ['Customer-10', 'Ünïcode John', 'x'.repeat(90), 'john@example.com']
  const ids = ['Customer-9', ' customer-9', 'Ünïcode Jane', 'y'.repeat(90)]
  for (const visitorId of [...others, ...ids]) await withdraw(visitorId)
  for (const identifier of ['customer-9', 'ünïcode jane', 'y'.repeat(90)]) {
    await forget(service, { identifier_hash: hash('sha256', identifier) })
  }
  const { rows } = await service.database.pool.query(
    'select visitor_id from consent_withdrawals order by visitor_id collate "C"',
  )
  const left = rows.map(({ visitor_id }) => visitor_id)
  assert.deepEqual(
    left.filter(id => !/^(external_id| keyed):/.test(id)),
    ['Customer-10', 'x'.repeat(90), 'Ünïcode John'],
  )
  // A keyed digest of each withdrawal stays; an ID with a space has one more, without the space.
  assert.equal(left.length, 3 + others.length + 1 + 2)
})

it('returns one receipt for concurrent equal requests and counts each event once', async test => {
  const service = await startTestService(test)
  for (let order = 1; order <= 20; order += 1) {
    await service.submit(samplePurchase({ event_id: `order-${order}` }))
  }
  const replies = await Promise.all(Array.from({ length: 8 }, () => forget(service)))
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
  assert.equal(new Set(replies.map(({ body }) => body.deletion_request_id)).size, 1)
  assert.equal(replies.filter(({ body }) => !body.duplicate).length, 1)
  const sum = replies.reduce((count, { body }) => count + body.events_updated, 0)
  assert.equal(sum, 20)
})

it('returns 401 without a secret and 415 without JSON', async test => {
  const service = await startTestService(test)
  assert.equal((await forget(service, { identifier_hash: DIGEST }, { secret: null })).status, 401)
  const headers = { 'content-type': 'text/plain' }
  assert.equal((await service.request('DELETE', PATH, { rawBody: 'x', headers })).status, 415)
})

it('returns 422 naming every invalid field without its value', async test => {
  const service = await startTestService(test)
  const wrong: [body: unknown, fields: string[]][] = [
    [null, ['identifier_hash']],
    [{}, ['identifier_hash']],
    [{ identifier_hash: EMAIL }, ['identifier_hash']],
    [{ identifier_hash: DIGEST.slice(1) }, ['identifier_hash']],
    [{ identifier_hash: `${DIGEST}0` }, ['identifier_hash']],
    [{ identifier_hash: `${DIGEST}\n` }, ['identifier_hash']],
    [{ identifier_hash: 7, identifier_type: 'em' }, ['identifier_hash', 'identifier_type']],
    [{ identifier_hash: DIGEST, identifier_type: null }, ['identifier_type']],
    [[DIGEST], ['body']],
  ]
  for (const [body, fields] of wrong) {
    const reply = await forget(service, body)
    assert.equal(reply.status, 422, JSON.stringify(body))
    assert.deepEqual(Object.keys(reply.body.errors), fields)
    assert.deepEqual(findEmailTraces(EMAIL, DIGEST, reply.text), [])
  }
  const { message } = (await forget(service, { identifier_hash: EMAIL })).body
  assert.equal(
    message,
    'The identifier_hash field must be a SHA-256 digest: 64 hexadecimal digits.',
  )
  assert.equal((await service.request('DELETE', PATH)).status, 422)
  const { rows } = await service.database.pool.query('select from deletion_requests')
  assert.equal(rows.length, 0)
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, service.logged()), [])
})
