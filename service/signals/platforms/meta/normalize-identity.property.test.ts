import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { normalizeMetaUserData } from '../../../../testing/fixtures/meta-identity.ts'
import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import { EMPTY_DIGEST } from '../../identity/identifier-formats.ts'
import type { NormalizedIdentity } from '../../identity/normalize-user-data.ts'
import { HASHED_FIELD_RULES, PLAIN_FIELD_RULES } from './normalize-identity.ts'

const HASHED_KEYS = [
  ...Object.keys(HASHED_FIELD_RULES),
  'email',
  'phone',
  'firstName',
  'hashed_email',
]
const PLAIN_KEYS = Object.keys(PLAIN_FIELD_RULES)

/** Our own field names may be in any result; a value that equals one by chance proves nothing. */
const VOCABULARY = JSON.stringify([DROP_REASONS, HASHED_KEYS, PLAIN_KEYS, 'user_data.', 'dropped'])

const hexadecimal = fc.string({
  unit: fc.constantFrom(...'0123456789abcdefABCDEF'),
  size: 'medium',
})
const phoneLike = fc.string({ unit: fc.constantFrom(...'0123456789+-() .'), maxLength: 24 })
const identifier = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 600 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.emailAddress(),
  fc.emailAddress().map(address => ` ${address.toUpperCase()}\t`),
  phoneLike,
  fc.integer({ min: 1_000_000, max: 999_999_999_999 }).map(number => `+${number}`),
  fc.date({ noInvalidDate: true }).map(date => date.toISOString().slice(0, 10)),
  hexadecimal,
  fc.constantFrom(EMPTY_DIGEST, EMPTY_DIGEST.toUpperCase(), '', ' ', '\u0000', 'null'),
)
const hashedValue = fc.oneof(identifier, fc.array(identifier, { maxLength: 14 }))
const hashedMembers = fc.dictionary(fc.constantFrom(...HASHED_KEYS), hashedValue, {
  noNullPrototype: true,
})
const anyMembers = fc.dictionary(
  fc.oneof(
    fc.constantFrom(...HASHED_KEYS, ...PLAIN_KEYS, '__proto__', 'constructor', 'toString'),
    fc.string(),
  ),
  fc.oneof(fc.jsonValue(), identifier, fc.array(identifier)),
)

function assertDigests({ digests }: NormalizedIdentity): void {
  for (const [key, values] of Object.entries(digests)) {
    assert.ok(Object.hasOwn(HASHED_FIELD_RULES, key))
    assert.ok(values.length >= 1 && values.length <= 10)
    assert.equal(new Set(values).size, values.length)
    for (const digest of values) {
      assert.match(digest, /^[0-9a-f]{64}$/)
      assert.notEqual(digest, EMPTY_DIGEST)
    }
  }
}

it('any JSON gives an answer whose digests are digests, and none of ""', () => {
  fc.assert(
    fc.property(anyMembers, userData => {
      const identity = normalizeMetaUserData(userData)
      assertDigests(identity)
      for (const [key, text] of Object.entries(identity.plain)) {
        assert.ok(PLAIN_KEYS.includes(key))
        assert.ok(text.length > 0 && text.length <= 1_024)
      }
    }),
    { numRuns: 2_000 },
  )
})

it('no raw text of a hashed field stands anywhere in the result', () => {
  fc.assert(
    fc.property(hashedMembers, userData => {
      const { digests, plain, dropped } = normalizeMetaUserData(userData)
      assert.deepEqual(plain, {})
      const result = JSON.stringify({ keys: Object.keys(digests), dropped })
      const kept = Object.values(digests).flat()
      for (const raw of Object.values(userData)
        .flat()
        .filter(text => text.length >= 5)) {
        if (VOCABULARY.includes(raw)) continue
        assert.ok(!result.includes(raw) && !result.includes(JSON.stringify(raw).slice(1, -1)))
        // A digest that the caller supplied is the only input that may be in the output.
        if (!/^[0-9a-f]{64}$/i.test(raw)) assert.ok(!kept.includes(raw))
      }
    }),
    { numRuns: 2_000 },
  )
})

it('a second pass over its own digests changes nothing', () => {
  fc.assert(
    fc.property(hashedMembers, userData => {
      const { digests } = normalizeMetaUserData(userData)
      assert.deepEqual(normalizeMetaUserData(digests), { digests, plain: {}, dropped: [] })
    }),
  )
})

it('an answer does not depend on case, outer blanks or Unicode composition', () => {
  const name = fc.string({ unit: fc.constantFrom(...'abcÉéñüßжλ李-. '), maxLength: 20 })
  fc.assert(
    fc.property(fc.emailAddress(), name, (em, fn) => {
      const written = normalizeMetaUserData({ em, fn })
      const rewritten = normalizeMetaUserData({
        em: `\t${em.toUpperCase()} `,
        fn: ` ${fn.normalize('NFD')}\n`,
      })
      assert.deepEqual(rewritten.digests, written.digests)
    }),
  )
})
