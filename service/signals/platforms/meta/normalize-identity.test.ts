import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { normalizeMetaUserData, TIMES } from '../../../../testing/fixtures/meta-identity.ts'
import { DROP_REASONS, DROPPED_FIELDS_MAX } from '../../identity/dropped-fields.ts'
import type { FieldResult } from '../../identity/field-rules.ts'
import {
  EMPTY_DIGEST,
  looksLikeUnsupportedHash,
  normalizeIdentifier,
  parseSuppliedDigest,
} from '../../identity/identifier-formats.ts'
import { hashIdentifier } from '../../identity/normalize-user-data.ts'
import type { HashedKey } from '../../identity/user-data-keys.ts'
import { HASHED_FIELD_RULES } from './normalize-identity.ts'
import vectors from './vectors/meta-hash-vectors.json' with { type: 'json' }

const DIGEST = hashIdentifier('someone')

/** A reason to drop a value is no text to hash. */
const readText = (result: FieldResult) => (typeof result === 'string' ? result : null)

describe("Meta's written rules", () => {
  for (const row of vectors) {
    const key = row.field as HashedKey
    const outcome = row.doc_sha256 === null ? 'is dropped' : `hashes ${row.doc_normalized}`

    it(`${key} ${JSON.stringify(row.input)} ${outcome}`, () => {
      const { digests, dropped } = normalizeMetaUserData({ [key]: row.input })
      assert.deepEqual(digests, row.doc_sha256 === null ? {} : { [key]: [row.doc_sha256] })
      assert.deepEqual(
        dropped.map(({ field }) => field),
        row.doc_sha256 === null ? [`user_data.${key}`] : [],
      )

      const prepared = normalizeIdentifier(row.input)
      const isHash =
        parseSuppliedDigest(prepared) !== null ||
        (key !== 'external_id' && looksLikeUnsupportedHash(prepared))
      const text =
        prepared === '' || isHash
          ? null
          : readText(HASHED_FIELD_RULES[key].normalize(prepared, { ...TIMES, country: null }))
      assert.equal(text, row.doc_normalized)
    })
  }

  it('the digests that Meta prints on its page come out, all of them', () => {
    const published = vectors.filter(row => row.meta_published_sha256 !== undefined)
    assert.equal(published.length, 7)
    for (const row of published) {
      const { digests } = normalizeMetaUserData({ [row.field]: row.input })
      assert.deepEqual(digests[row.field], [row.meta_published_sha256])
    }
  })
})

describe('hashed values from the caller', () => {
  it('keeps a digest of any case, lower-cased, and does not hash it again', () => {
    const { digests, dropped } = normalizeMetaUserData({
      em: DIGEST.toUpperCase(),
      ph: ` ${DIGEST} `,
    })
    assert.deepEqual(digests, { em: [DIGEST], ph: [DIGEST] })
    assert.deepEqual(dropped, [])
  })

  it('keeps the bare digest of the Parameter Builder form', () => {
    for (const suffix of ['AQ', 'Ag', 'Aw', 'BA', 'BQ', 'Bg', 'AQMBAgEA']) {
      assert.deepEqual(normalizeMetaUserData({ em: `${DIGEST}.${suffix}` }).digests, {
        em: [DIGEST],
      })
    }
  })

  it('drops a digest with a suffix that the Parameter Builder does not make', () => {
    for (const suffix of ['', 'XX', 'AQAQ', 'com']) {
      const { digests, dropped } = normalizeMetaUserData({ em: `${DIGEST}.${suffix}` })
      assert.deepEqual(digests, {})
      assert.deepEqual(dropped, [{ field: 'user_data.em', reason: DROP_REASONS.email }])
    }
  })

  it('drops the digest of an empty value', () => {
    const { digests, dropped } = normalizeMetaUserData({ em: EMPTY_DIGEST.toUpperCase() })
    assert.deepEqual(digests, {})
    assert.deepEqual(dropped, [{ field: 'user_data.em', reason: DROP_REASONS.emptyDigest }])
  })

  it('drops MD5 and SHA-1 in a name instead of hashing them as a name', () => {
    const { digests, dropped } = normalizeMetaUserData({
      fn: DIGEST.slice(32),
      ln: DIGEST.slice(24),
    })
    assert.deepEqual(digests, {})
    assert.deepEqual(
      dropped.map(({ reason }) => reason),
      [DROP_REASONS.otherHash, DROP_REASONS.otherHash],
    )
  })

  it('takes only digests in a field that is named as hashed', () => {
    const { digests, dropped } = normalizeMetaUserData({
      hashed_email: DIGEST,
      phone_hash: DIGEST,
      sha256_first_name: 'Mary',
    })
    assert.deepEqual(digests, { em: [DIGEST], ph: [DIGEST] })
    assert.deepEqual(dropped, [
      { field: 'user_data.sha256_first_name', reason: DROP_REASONS.digestOnly },
    ])
  })
})

describe('names, lists and kinds', () => {
  it('accepts the names that people expect beside the wire keys', () => {
    const wire = { em: 'a@example.com', fn: 'Mary', ln: 'Smith', zp: '94035', db: '19970216' }
    const friendly = {
      email: 'a@example.com',
      firstName: 'Mary',
      'last-name': 'Smith',
      postal_code: '94035',
      date_of_birth: '1997-02-16',
    }
    assert.deepEqual(normalizeMetaUserData(friendly).digests, normalizeMetaUserData(wire).digests)
  })

  it('joins two names of one field and keeps each digest once', () => {
    const { digests } = normalizeMetaUserData({
      em: ['a@example.com', 'A@EXAMPLE.COM '],
      email: ['b@example.com', hashIdentifier('a@example.com')],
    })
    assert.deepEqual(digests, {
      em: [hashIdentifier('a@example.com'), hashIdentifier('b@example.com')],
    })
  })

  it('reads ten values of a list and records that there were more', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `p${index}@example.com`)
    const { digests, dropped } = normalizeMetaUserData({ em: many })
    assert.equal(digests.em?.length, 10)
    assert.deepEqual(dropped, [{ field: 'user_data.em', reason: DROP_REASONS.tooMany }])
  })

  it('stops at ten digests even when two names bring them', () => {
    const numbered = (name: string) =>
      Array.from({ length: 10 }, (_, index) => `${name}${index}@example.com`)
    const { digests, dropped } = normalizeMetaUserData({ em: numbered('a'), email: numbered('b') })
    assert.equal(digests.em?.length, 10)
    assert.equal(dropped.length, 10)
    assert.deepEqual(dropped[0], { field: 'user_data.email[0]', reason: DROP_REASONS.tooMany })
  })

  it('names the place of the one bad value in a list', () => {
    const { digests, dropped } = normalizeMetaUserData({ em: ['a@example.com', 'nobody', null] })
    assert.equal(digests.em?.length, 1)
    assert.deepEqual(dropped, [{ field: 'user_data.em[1]', reason: DROP_REASONS.email }])
  })

  it('takes whole numbers where numbers are identifiers, and only there', () => {
    const { digests, dropped } = normalizeMetaUserData({
      zp: 94_035,
      external_id: 42,
      ph: 16_505_551_212,
      fn: 7,
    })
    assert.deepEqual(digests, {
      zp: [hashIdentifier('94035')],
      external_id: [hashIdentifier('42')],
      ph: [hashIdentifier('16505551212')],
    })
    assert.deepEqual(dropped, [{ field: 'user_data.fn', reason: DROP_REASONS.wrongKind }])
  })

  it('drops numbers that JSON has already changed', () => {
    for (const value of [2 ** 53, 1.5, -1, Number.NaN]) {
      const { digests, dropped } = normalizeMetaUserData({ external_id: value })
      assert.deepEqual(digests, {})
      assert.deepEqual(dropped, [
        { field: 'user_data.external_id', reason: DROP_REASONS.unsafeInteger },
      ])
    }
  })

  it('treats null as absent and records blank text', () => {
    const { digests, dropped } = normalizeMetaUserData({ em: null, ph: undefined, fn: '  ' })
    assert.deepEqual(digests, {})
    assert.deepEqual(dropped, [{ field: 'user_data.fn', reason: DROP_REASONS.empty }])
  })

  it('drops a value that is too long to be an identifier', () => {
    const { dropped } = normalizeMetaUserData({ external_id: 'x'.repeat(513) })
    assert.deepEqual(dropped, [{ field: 'user_data.external_id', reason: DROP_REASONS.tooLong }])
  })

  it('drops a variable that was never filled, so that it does not join strangers', () => {
    for (const value of ['undefined', ' NULL ', '[object Object]']) {
      assert.deepEqual(normalizeMetaUserData({ external_id: value }).digests, {})
    }
  })

  it('answers an absent user_data, or one of the wrong kind, with nothing', () => {
    for (const userData of [undefined, null, [], 'a@example.com', 7]) {
      const identity = normalizeMetaUserData(userData as unknown as undefined)
      assert.deepEqual(identity, { digests: {}, plain: {}, dropped: [] })
    }
  })
})

describe('unknown members', () => {
  it('records the name of an unknown member and never its value', () => {
    const identity = normalizeMetaUserData({ emial: 'a@example.com' })
    assert.deepEqual(identity, {
      digests: {},
      plain: {},
      dropped: [{ field: 'user_data.emial', reason: DROP_REASONS.unknown }],
    })
  })

  it('does not repeat a name that may itself be an identifier', () => {
    const names = ['a@example.com', '+16505551212', '16505551212', 'x'.repeat(41), DIGEST]
    for (const name of names) {
      const { dropped } = normalizeMetaUserData({ [name]: 'x' })
      assert.deepEqual(dropped, [{ field: 'user_data.*', reason: DROP_REASONS.unknown }])
    }
  })

  it('is not led astray by __proto__ and constructor', () => {
    const hostile = JSON.parse('{"__proto__": {"em": "a@example.com"}, "constructor": "x"}')
    const identity = normalizeMetaUserData(hostile)
    assert.deepEqual(identity.digests, {})
    assert.deepEqual(identity.plain, {})
    assert.deepEqual(
      identity.dropped.map(({ field }) => field),
      ['user_data.__proto__', 'user_data.constructor'],
    )
    assert.equal(({} as { em?: string }).em, undefined)
  })

  it('bounds what it reads and what it records', () => {
    const hostile = Object.fromEntries(
      Array.from({ length: 4_000 }, (_, index) => [`member${index}`, 'x']),
    )
    const { dropped } = normalizeMetaUserData({ ...hostile, em: 'a@example.com' })
    assert.equal(dropped.length, DROPPED_FIELDS_MAX)
  })
})
