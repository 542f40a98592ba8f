import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { identifiersOf, indexKey, namesPerson, visitorDigest } from './identifiers.ts'

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

it('gives every digest a number from 1 to 2^18', () => {
  assert.equal(indexKey('0'.repeat(64)), 1)
  assert.equal(indexKey('f'.repeat(64)), 2 ** 18)
  assert.equal(indexKey(`00007fff${'f'.repeat(56)}`), 2)
})
