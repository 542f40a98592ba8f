import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizeMetaUserData } from './normalize-identity.ts'

it('a ZIP+4 is cut only where it is one', () => {
  const zip = (country: string, zp: string) => normalizeMetaUserData({ country, zp }).digests.zp
  assert.deepEqual(zip('US', '94035-1234'), zip('US', '94035'))
  assert.deepEqual(zip('SA', '12345-6789'), zip('SA', '123456789'))
  assert.notDeepEqual(zip('SA', '12345-6789'), zip('SA', '12345'))
})

it('the country of the event completes its phone numbers, wherever it stands', () => {
  const { digests } = normalizeMetaUserData({ ph: '06 12 34 56 78', country_code: 'FR' })
  assert.deepEqual(digests.ph, normalizeMetaUserData({ ph: '+33612345678' }).digests.ph)
})

it('a country that is already a digest completes nothing', () => {
  const country = normalizeMetaUserData({ country: 'fr' }).digests.country
  const { digests, dropped } = normalizeMetaUserData({ ph: '0612345678', country })
  assert.deepEqual(digests, { country })
  assert.deepEqual(
    dropped.map(({ field }) => field),
    ['user_data.ph'],
  )
})

it('a name or place without a letter is dropped, not hashed as ""', () => {
  for (const key of ['fn', 'ln', 'ct', 'st']) {
    for (const text of ['--', '😀', '123', '\u0301', '\u0000']) {
      assert.deepEqual(normalizeMetaUserData({ [key]: text }).digests, {})
    }
  }
})
