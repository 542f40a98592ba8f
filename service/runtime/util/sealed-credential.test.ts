import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import fc from 'fast-check'
import { type CredentialKeys, openCredential, sealCredential } from './sealed-credential.ts'

const KEYS: CredentialKeys = { current: randomBytes(32), previous: [] }
const DESTINATION_ID = '0190bbbb-0000-7000-8000-000000000001'

it('opens what it sealed, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), credential => {
      const sealed = sealCredential(KEYS, DESTINATION_ID, credential)
      const opened = openCredential(KEYS, DESTINATION_ID, sealed)
      assert.deepEqual(opened, { credential, key: 'current' })
    }),
  )
})

it('never seals the same text to the same bytes, and contains none of it', () => {
  const credential = 'EAABsbCS1iHgBO7ZC'
  const first = sealCredential(KEYS, DESTINATION_ID, credential)
  const second = sealCredential(KEYS, DESTINATION_ID, credential)
  assert.notDeepEqual(first, second)
  assert.equal(first.includes(credential), false)
  assert.equal(first.length, 12 + 16 + credential.length)
})

it('opens nothing when any bit was changed, with any key', () => {
  const keys = { current: KEYS.current, previous: [randomBytes(32), randomBytes(32)] }
  const sealed = sealCredential(keys, DESTINATION_ID, 'token')
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.equal(openCredential(keys, DESTINATION_ID, changed), null)
  }
})

it('opens nothing that was truncated', () => {
  const sealed = sealCredential(KEYS, DESTINATION_ID, 'token')
  for (let length = 0; length < sealed.length; length += 1) {
    assert.equal(openCredential(KEYS, DESTINATION_ID, sealed.subarray(0, length)), null)
  }
})

it('opens nothing for another destination or with other keys', () => {
  const sealed = sealCredential(KEYS, DESTINATION_ID, 'token')
  const other = '0190bbbb-0000-7000-8000-000000000002'
  const strangers = { current: randomBytes(32), previous: [randomBytes(32)] }
  assert.equal(openCredential(KEYS, other, sealed), null)
  assert.equal(openCredential({ ...strangers, previous: [KEYS.current] }, other, sealed), null)
  assert.equal(openCredential(strangers, DESTINATION_ID, sealed), null)
})

it('opens with previous keys what they sealed, and reports it', () => {
  const [oldest, older, current] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const rotated = { current, previous: [older, oldest] }
  for (const key of [older, oldest]) {
    const sealed = sealCredential({ current: key, previous: [] }, DESTINATION_ID, 'token')
    const opened = openCredential(rotated, DESTINATION_ID, sealed)
    assert.deepEqual(opened, { credential: 'token', key: 'previous' })
  }
})

it('seals only with the current key', () => {
  const rotated = { current: randomBytes(32), previous: [KEYS.current] }
  const sealed = sealCredential(rotated, DESTINATION_ID, 'token')
  assert.equal(openCredential(rotated, DESTINATION_ID, sealed)?.key, 'current')
  assert.equal(openCredential(KEYS, DESTINATION_ID, sealed), null)
})
