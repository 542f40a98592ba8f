import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const PURCHASE = { ...samplePurchase(), event_id: undefined }
const KEY = 'idempotency-key'

it('takes the event ID from Idempotency-Key, bare or quoted', async test => {
  const service = await startTestService(test)
  const bare = await service.submit(PURCHASE, { [KEY]: 'order-7' })
  assert.deepEqual(bare.body, { event_id: 'order-7', duplicate: false, warnings: [], notices: [] })
  const quoted = await service.submit(PURCHASE, { [KEY]: '"order-7"' })
  assert.equal(quoted.status, 200)
  assert.deepEqual(quoted.body, { event_id: 'order-7', duplicate: true })
  assert.equal(quoted.headers.get(KEY), 'order-7')
  const escaped = await service.submit(PURCHASE, { [KEY]: '"a\\"b\\\\c"' })
  assert.equal(escaped.body.event_id, 'a"b\\c')
})

it('accepts a key that equals the event_id', async test => {
  const service = await startTestService(test)
  const body = samplePurchase()
  assert.equal((await service.submit(body, { [KEY]: 'order-1001' })).status, 202)
  assert.equal((await service.submit(body, { [KEY]: '"order-1001"' })).status, 200)
})

it('returns 422 naming event_id when it differs from the key and stores nothing', async test => {
  const service = await startTestService(test)
  const reply = await service.submit(samplePurchase(), { [KEY]: 'another' })
  const sentence = 'The event_id field and the Idempotency-Key header must match.'
  assert.equal(reply.status, 422)
  assert.deepEqual(reply.body, { message: sentence, errors: { event_id: [sentence] } })
  assert.equal((await service.read('order-1001')).status, 404)
  assert.equal((await service.read('another')).status, 404)
})

it('returns 422 naming the header when the key is empty, too long, or not UTF-8', async test => {
  const service = await startTestService(test)
  for (const [key, rule] of [
    ['', 'must not be empty'],
    ['""', 'must not be empty'],
    ['"   "', 'must not be empty'],
    ['k'.repeat(129), 'must not be greater than 128 characters'],
    [bytesOf('é'.repeat(129)), 'must not be greater than 128 characters'],
    ['caf\u{e9}', 'must be valid UTF-8'],
    [bytesOf('a\u0085b'), 'must not contain control characters'],
    ['..', 'must not be a path segment of dots'],
  ]) {
    const reply = await service.submit(PURCHASE, { [KEY]: key as string })
    const sentence = `The Idempotency-Key header ${rule}.`
    assert.equal(reply.status, 422, key)
    assert.deepEqual(reply.body.errors, { 'Idempotency-Key': [sentence] }, key)
  }
})

it('returns 422 naming event_id when it is blank, a dot segment, or has control characters', async test => {
  const service = await startTestService(test)
  for (const [event_id, rule] of [
    ['', 'must not be empty'],
    ['  \t', 'must not be empty'],
    ['a\nb', 'must not contain control characters'],
    ['a\u{7f}b', 'must not contain control characters'],
    ['.', 'must not be a path segment of dots'],
    ['..', 'must not be a path segment of dots'],
  ]) {
    const reply = await service.submit(samplePurchase({ event_id }))
    assert.equal(reply.status, 422, event_id)
    assert.equal(reply.body.errors.event_id[0], `The event_id field ${rule}.`)
    assert.deepEqual(Object.keys(reply.body.errors), ['event_id'])
  }
})

it('keeps event IDs of every script distinct, in body and header', async test => {
  const service = await startTestService(test)
  // The last byte of "à" is a no-break space for code that trims the raw header.
  for (const id of ['voilà', 'voilá', 'заказ-7', '注文７', '🛒', '\u{2003}x']) {
    const reply = await service.submit(PURCHASE, { [KEY]: bytesOf(id) })
    assert.equal(reply.status, 202, id)
    assert.equal(reply.body.event_id, id)
    assert.equal(reply.headers.get('location'), locationOf(service, id))
    assert.equal((await service.submit(samplePurchase({ event_id: id }))).status, 200, id)
    assert.equal((await service.read(id)).body.event.id, id)
  }
})

it('accepts 128 characters of four bytes each and returns a working Location', async test => {
  const service = await startTestService(test)
  const id = '🧾'.repeat(128)
  const reply = await service.submit(PURCHASE, { [KEY]: bytesOf(id) })
  assert.equal(reply.status, 202)
  assert.equal(reply.headers.get(KEY), bytesOf(id))
  assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(reply.headers.get('location'), locationOf(service, id))
  const read = await service.request('GET', pathOf(reply.headers.get('location')))
  assert.equal(read.status, 200)
  assert.equal(read.body.event.id, id)
})

it('quotes the echoed key when the bare form would be read as another ID', async test => {
  const service = await startTestService(test)
  for (const [event_id, echo] of [
    ['"q"', '"\\"q\\""'],
    [' lead', '" lead"'],
    ['trail ', '"trail "'],
    ['in "side"', 'in "side"'],
  ] as const) {
    const reply = await service.submit(samplePurchase({ event_id }))
    assert.equal(reply.headers.get(KEY), echo)
    assert.equal((await service.submit(PURCHASE, { [KEY]: echo })).body.event_id, event_id)
  }
})

it('returns a working Location for any event ID', async test => {
  const service = await startTestService(test)
  const anyId = fc
    .string({ unit: 'grapheme-composite', minLength: 1, maxLength: 40 })
    .filter(id => id.trim() !== '' && !/^\.{1,2}$|\p{Cc}/u.test(id))
  const awkward = ['a/b', 'a%2Fb', '%', '%25', '%252F', '?q#f', ';', '+', '\\', '...', '%00']
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyId, fc.constantFrom(...awkward)), async event_id => {
      const reply = await service.submit(samplePurchase({ event_id }))
      assert.ok(reply.status === 202 || reply.status === 200)
      const read = await service.request('GET', pathOf(reply.headers.get('location')))
      assert.equal(read.body.event.id, event_id)
    }),
    { numRuns: 150 },
  )
})

/** Header values are bytes; fetch writes one for each character. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function locationOf(service: TestService, id: string): string {
  return `${service.url}/api/v1/events/${encodeURIComponent(id)}`
}

function pathOf(location: string | null): string {
  return new URL(location ?? '').pathname
}
