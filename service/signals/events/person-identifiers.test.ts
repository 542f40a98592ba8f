import assert from 'node:assert/strict'
import { createHash, createSecretKey, hash } from 'node:crypto'
import { describe, it } from 'node:test'
import { normalizeMetaUserData } from '../../../testing/fixtures/meta-identity.ts'
import {
  computePersonLookup,
  digestVisitorId,
  indexKey,
  legacyIndexKey,
  listIdentifierDigests,
  listKeyedWithdrawalKeys,
  listPlainWithdrawalKeys,
  listVisitorKeys,
  listWithdrawableDigests,
  matchesPerson,
  type PersonIdentifiers,
  pseudonymizeVisitorId,
} from './person-identifiers.ts'

const [A, B, C] = ['a', 'b', 'c'].map(text => hash('sha256', text)) as [string, string, string]

it('lists each digest that a deletion request can name once', () => {
  const digests = { em: [A, B], ph: [B], external_id: [C], fn: [hash('sha256', 'jane')] }
  assert.deepEqual(listIdentifierDigests({ visitorId: null, digests }), [A, B, C])
  assert.deepEqual(listIdentifierDigests({ visitorId: `sha256:${A}`, digests }), [A, B, C])
  assert.deepEqual(listIdentifierDigests({ visitorId: 'a', digests: {} }), [A])
  assert.deepEqual(listIdentifierDigests({ visitorId: null, digests: {} }), [])
})

it('digests a visitor ID as a digest, a prefixed digest or an external_id', () => {
  assert.equal(digestVisitorId(`sha256:${A}`), A)
  assert.equal(digestVisitorId(A.toUpperCase()), A)
  assert.equal(digestVisitorId(' A\t'), A)
  assert.equal(digestVisitorId('Jose\u0301'), hash('sha256', 'jos\u00e9'))
})

it('matches a person only under the requested keys', () => {
  const payload = { visitorId: 'b', digests: { em: [A], external_id: [C] } }
  assert.equal(matchesPerson(payload, { digest: A, keys: ['em'] }), true)
  assert.equal(matchesPerson(payload, { digest: A, keys: ['ph', 'external_id'] }), false)
  assert.equal(matchesPerson(payload, { digest: C, keys: ['em', 'external_id'] }), true)
  assert.equal(matchesPerson(payload, { digest: B, keys: ['em'] }), true)
})

it('finds the address in a visitor ID by the digests of this and of earlier versions', () => {
  const times = { eventTime: new Date(0), observedAt: new Date(0) }
  for (const visitor_id of ['jane&#64;example.com', 'jane%26commat%3bexample.com']) {
    const { visitor_id: groups } = computePersonLookup({ visitor_id }, times)
    assert.deepEqual(groups, [[hash('sha256', 'jane@example.com'), hash('sha256', visitor_id)]])
  }
})

describe('indexKey', () => {
  const TRACKER = '0190aaaa-0000-7000-8000-0000000000ff'

  it('mixes the tracker ID into 32 bits of the digest', () => {
    assert.equal(indexKey(TRACKER, '0'.repeat(64)), 0xff)
    assert.equal(indexKey(TRACKER, `0000ff00${'f'.repeat(56)}`), 0xffff)
    assert.notEqual(indexKey(TRACKER.replace('ff', 'fe'), A), indexKey(TRACKER, A))
  })

  it('fits a 32-bit integer and is never 0, which marks unindexed rows', () => {
    assert.equal(indexKey(TRACKER, 'f'.repeat(64)), ~0xff)
    assert.equal(indexKey(TRACKER, `000000ff${'f'.repeat(56)}`), 1)
  })
})

it('maps every digest to a legacy index key from 1 to 2^18', () => {
  assert.equal(legacyIndexKey('0'.repeat(64)), 1)
  assert.equal(legacyIndexKey('f'.repeat(64)), 2 ** 18)
  assert.equal(legacyIndexKey(`00007fff${'f'.repeat(56)}`), 2)
})

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Whether a withdrawal of this visitor ID applies to an event with this visitor and user_data. */
function applies(
  withdrawn: string,
  event: { visitorId?: string; userData?: Record<string, unknown> },
): boolean {
  const { digests } = normalizeMetaUserData(event.userData)
  const visitorId = event.visitorId === undefined ? null : pseudonymizeVisitorId(event.visitorId)
  const keys = listKeys({ visitorId, digests })
  const person = { visitorId: pseudonymizeVisitorId(withdrawn), digests: {} }
  const stored = [...listPlainWithdrawalKeys(person), ...listKeyedKeys(person)]
  return stored.some(key => keys.includes(key))
}

function listKeys(person: PersonIdentifiers): string[] {
  return [...listVisitorKeys(person), ...listKeyedKeys(person)]
}

function listKeyedKeys(person: PersonIdentifiers): string[] {
  return listKeyedWithdrawalKeys(KEY, 'tracker', listWithdrawableDigests(person))
}

const KEY = createSecretKey(Buffer.alloc(32, 7))

it('applies a withdrawal to events of the same visitor ID only', () => {
  assert.equal(applies('v-1', { visitorId: 'v-1' }), true)
  assert.equal(applies('v-1', { visitorId: 'v-2' }), false)
  assert.equal(applies('v-1', {}), false)
})

it('applies a withdrawal to the visitor ID as it is, without the spaces around it', () => {
  assert.equal(applies(' V1\t', { visitorId: 'V1' }), true)
  assert.equal(applies('V1', { visitorId: '\u00a0V1 ' }), true)
  assert.equal(applies('V1', { visitorId: 'v1' }), false)
  assert.equal(applies('V 1', { visitorId: 'V1' }), false)
})

it('finds a withdrawal that an earlier version stored under a plain digest', () => {
  const { digests } = normalizeMetaUserData({ em: 'jane@example.com', external_id: 'crm-42' })
  const keys = listVisitorKeys({ visitorId: null, digests })
  const expected = [`sha256:${sha256('jane@example.com')}`, `external_id:${sha256('crm-42')}`]
  assert.deepEqual(keys, expected)
})

it('stores no plain digest of an identifier in a withdrawal', () => {
  for (const visitor of ['jane@example.com', '+49 30 901820', sha256('jane@example.com')]) {
    const person = { visitorId: pseudonymizeVisitorId(visitor), digests: {} }
    assert.deepEqual(listPlainWithdrawalKeys(person), [])
    assert.match(listKeyedKeys(person).join(), /^ keyed:[0-9a-f]{64}$/)
  }
})

it('applies a withdrawal to events with the ID as external_id, raw or hashed', () => {
  assert.equal(applies('crm-42', { userData: { external_id: 'crm-42' } }), true)
  assert.equal(applies('crm-42', { userData: { external_id: ['x', 'crm-42'] } }), true)
  assert.equal(applies('crm-42', { userData: { external_id: sha256('crm-42') } }), true)
  assert.equal(applies('crm-42', { userData: { external_id: 'crm-43' } }), false)
})

it('applies a withdrawal under an email address or phone number to events with it', () => {
  assert.equal(applies(' Jane@Example.com', { userData: { em: 'jane@example.com' } }), true)
  assert.equal(applies('jane@example.com', { visitorId: 'JANE@example.com' }), true)
  assert.equal(applies('jane@example.com', { userData: { external_id: 'jane@example.com' } }), true)
  assert.equal(applies('+49 30 901820', { userData: { ph: '+4930901820' } }), true)
  assert.equal(applies('jane@example.com', { userData: { em: 'john@example.com' } }), false)
})

it('lists no keys for an event without a payload', () => {
  assert.deepEqual(listVisitorKeys(null), [])
})
