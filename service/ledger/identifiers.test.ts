import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, it } from 'node:test'
import {
  identifiersOf,
  indexKey,
  legacyIndexKey,
  namesPerson,
  visitorDigest,
} from './identifiers.ts'

const [A, B, C] = ['a', 'b', 'c'].map(text => hash('sha256', text)) as [string, string, string]

it('finds every digest that a deletion can ask for, each once, and no other', () => {
  const digests = { em: [A, B], ph: [B], external_id: [C], fn: [hash('sha256', 'jane')] }
  assert.deepEqual(identifiersOf({ visitorId: null, digests }), [A, B, C])
  assert.deepEqual(identifiersOf({ visitorId: `sha256:${A}`, digests }), [A, B, C])
  assert.deepEqual(identifiersOf({ visitorId: 'a', digests: {} }), [A])
  assert.deepEqual(identifiersOf({ visitorId: null, digests: {} }), [])
})

it('knows a visitor id by the digest that it is, was made, or has as external_id', () => {
  assert.equal(visitorDigest(`sha256:${A}`), A)
  assert.equal(visitorDigest(A.toUpperCase()), A)
  assert.equal(visitorDigest(' A\t'), A)
  assert.equal(visitorDigest('Jose\u0301'), hash('sha256', 'jos\u00e9'))
})

it('tells under which key a person is named', () => {
  const payload = { visitorId: 'b', digests: { em: [A], external_id: [C] } }
  assert.equal(namesPerson(payload, { digest: A, keys: ['em'] }), true)
  assert.equal(namesPerson(payload, { digest: A, keys: ['ph', 'external_id'] }), false)
  assert.equal(namesPerson(payload, { digest: C, keys: ['em', 'external_id'] }), true)
  assert.equal(namesPerson(payload, { digest: B, keys: ['em'] }), true)
})

describe('indexKey', () => {
  const TRACKER = '0190aaaa-0000-7000-8000-0000000000ff'

  it('mixes the tracker into 32 bits of the digest', () => {
    assert.equal(indexKey(TRACKER, '0'.repeat(64)), 0xff)
    assert.equal(indexKey(TRACKER, `0000ff00${'f'.repeat(56)}`), 0xffff)
    assert.notEqual(indexKey(TRACKER.replace('ff', 'fe'), A), indexKey(TRACKER, A))
  })

  it('fits a 32-bit integer and is never 0, which marks what is not indexed', () => {
    assert.equal(indexKey(TRACKER, 'f'.repeat(64)), ~0xff)
    assert.equal(indexKey(TRACKER, `000000ff${'f'.repeat(56)}`), 1)
  })
})

it('gives every digest of the time before a number from 1 to 2^18', () => {
  assert.equal(legacyIndexKey('0'.repeat(64)), 1)
  assert.equal(legacyIndexKey('f'.repeat(64)), 2 ** 18)
  assert.equal(legacyIndexKey(`00007fff${'f'.repeat(56)}`), 2)
})
