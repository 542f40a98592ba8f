import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const CONTENTS_BYTES_MAX = 16_384
const BODY_BYTES_MAX = 65_536

/** One character of one byte and one of four, since limits count characters, not bytes. */
const CHARACTERS = ['x', '🛒']

const LIMITS = [
  ['event_id', 128],
  ['parent_event_id', 128],
  ['event_name', 100],
  ['visitor_id', 255],
] as const

for (const [field, charactersMax] of LIMITS) {
  it(`returns 422 for ${field} of ${charactersMax + 1} characters and 202 for one fewer`, async test => {
    const service = await startTestService(test)
    for (const character of CHARACTERS) {
      const longest = character.repeat(charactersMax)
      const sentence = `The ${field} field must not be greater than ${charactersMax} characters.`
      const tooLong = await service.submit(
        samplePurchase({ event_id: `of-${character}`, [field]: longest + character }),
      )
      assert.equal(tooLong.status, 422)
      assert.deepEqual(tooLong.body, { message: sentence, errors: { [field]: [sentence] } })
      const body = samplePurchase({ event_id: `of-${character}`, [field]: longest })
      const reply = await service.submit(body)
      assert.equal(reply.status, 202)
      const { event } = (await service.read(reply.body.event_id)).body
      const read = field === 'event_id' ? event.id : event[field]
      assert.equal(field === 'visitor_id' ? event.session.visitor_id : read, longest)
    }
  })
}

it('returns 422 for contents of 51 items and 202 for 50', async test => {
  const service = await startTestService(test)
  const fifty = Array.from({ length: 50 }, (_, index) => ({ id: `sku-${index}` }))
  const tooMany = await service.submit(withContents([...fifty, { id: 'sku-50' }]))
  const sentence = 'The value_data.contents field must not have more than 50 items.'
  assert.equal(tooMany.status, 422)
  assert.deepEqual(tooMany.body.errors, { 'value_data.contents': [sentence] })
  assert.equal((await service.submit(withContents(fifty))).status, 202)
  const { event } = (await service.read('order-1001')).body
  assert.deepEqual(event.value_data.contents, fifty)
})

it('returns 422 for contents over 16 KiB and 202 for exactly 16 KiB', async test => {
  const service = await startTestService(test)
  // ["…"] is four bytes more than its text; € is three bytes.
  const largest = `€${'x'.repeat(CONTENTS_BYTES_MAX - 4 - 3)}`
  const tooLarge = await service.submit(withContents([`${largest}x`]))
  const sentence = 'The value_data.contents field must not be greater than 16 KiB.'
  assert.equal(tooLarge.status, 422)
  assert.deepEqual(tooLarge.body.errors, { 'value_data.contents': [sentence] })
  assert.equal((await service.submit(withContents([largest]))).status, 202)
  const { event } = (await service.read('order-1001')).body
  assert.deepEqual(event.value_data.contents, [largest])
})

it('returns 413 for a body over 64 KiB and 202 for exactly 64 KiB', async test => {
  const service = await startTestService(test)
  const tooLarge = await service.request('POST', '/api/v1/events', {
    rawBody: bodyOfBytes(BODY_BYTES_MAX + 1),
  })
  assert.equal(tooLarge.status, 413)
  assert.match(tooLarge.body.message, /^The body is larger than 65536 bytes; /)
  assert.equal((await service.read('order-1001')).status, 404)
  const largest = await service.request('POST', '/api/v1/events', {
    rawBody: bodyOfBytes(BODY_BYTES_MAX),
  })
  assert.equal(largest.status, 202)
})

it('returns 400 for 33 levels of nesting and 202 for 32', async test => {
  const service = await startTestService(test)
  const deep = await service.submit(samplePurchase({ unknown: nested(32) }))
  assert.equal(deep.status, 400)
  assert.deepEqual(deep.body, { message: 'The body is nested deeper than 32 levels.' })
  assert.equal((await service.submit(samplePurchase({ unknown: nested(31) }))).status, 202)
})

function withContents(contents: unknown[]): Record<string, unknown> {
  return samplePurchase({ value_data: { value: '1', currency: 'EUR', contents } })
}

function bodyOfBytes(bytes: number): string {
  const text = JSON.stringify(samplePurchase({ unknown: '' }))
  return JSON.stringify(samplePurchase({ unknown: 'x'.repeat(bytes - text.length) }))
}

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)]
}
