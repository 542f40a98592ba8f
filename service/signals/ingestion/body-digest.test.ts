import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { digestBody } from './idempotency.ts'

const EVENT = { trackerId: '00000000-0000-4000-8000-000000000001', eventId: 'order-1' }

it('is independent of member order at any depth', () => {
  const one = { a: 1, b: { c: [1, { d: 2, e: 3 }], f: null } }
  const other = { b: { f: null, c: [1, { e: 3, d: 2 }] }, a: 1 }
  assert.deepEqual(digestOf(one), digestOf(other))
})

it('differs for different values, list orders, types, and nesting', () => {
  const bodies = [
    {},
    { a: 1 },
    { a: '1' },
    { a: null },
    { a: [1] },
    { a: [1, 2] },
    { a: [2, 1] },
    { a: { b: 1 } },
    { 'a":{"b': 1 },
    { a: true },
    { b: 1 },
    { a: '19.95' },
    { a: '19.950' },
  ]
  const digests = new Set(bodies.map(body => digestOf(body).toString('hex')))
  assert.equal(digests.size, bodies.length)
})

it('ignores event_id, which may come in the header instead', () => {
  assert.deepEqual(digestOf({ event_id: 'order-1', a: 1 }), digestOf({ a: 1 }))
})

it('differs between events with equal bodies', () => {
  const body = { a: 1 }
  const ofTracker = { ...EVENT, trackerId: '00000000-0000-4000-8000-000000000002' }
  assert.notDeepEqual(digestBody(body, EVENT), digestBody(body, { ...EVENT, eventId: 'order-2' }))
  assert.notDeepEqual(digestBody(body, EVENT), digestBody(body, ofTracker))
})

it('matches digests stored by earlier releases', () => {
  const names = Object.fromEntries(
    [...'zyxwvutsrqponmlkji'].map(name => [name, { [name]: 1, A: null }]),
  )
  const body = { event_name: 'Purchase', 10: 'ten', 9: [{ b: '\u00e9"\n', a: -0 }], names }
  assert.equal(
    digestOf(body).toString('hex'),
    'da2871192e2848aa4a5286a84589f5873a4805a9d3768757c4704676510089b9',
  )
})

it('is stable across JSON serialization', () => {
  const anyBody = fc.dictionary(fc.string(), fc.jsonValue({ stringUnit: 'binary' }))
  fc.assert(
    fc.property(anyBody, body => {
      const reparsed = JSON.parse(JSON.stringify(body)) as Record<string, unknown>
      const turned = Object.fromEntries(Object.entries(reparsed).reverse())
      assert.deepEqual(digestOf(turned), digestOf(body))
      assert.equal(digestOf(body).length, 32)
    }),
  )
})

function digestOf(body: Record<string, unknown>): Buffer {
  return digestBody(body, EVENT)
}
