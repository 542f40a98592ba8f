import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { normalizeMetaUserData } from '../../../testing/fixtures/meta-identity.ts'
import { pseudonymizeVisitorId } from './person-identifiers.ts'

it('keeps a pseudonymous id as it is, without the spaces around it', () => {
  assert.equal(pseudonymizeVisitorId(' Padded V\t\u00a0'), 'Padded V')
  for (const id of ['v_7Kx', 'GA1.2.1234.5678', '16505551212', '+abc', '100%', ''])
    assert.equal(pseudonymizeVisitorId(id), id)
})

it('turns an email address into the digest that em would have', () => {
  const [em] = normalizeMetaUserData({ em: 'john@example.com' }).digests.em ?? []
  for (const id of [
    'john@example.com',
    ' John@Example.COM',
    'john%40example.com',
    'mailto:john@example.com',
    'john&#64;example.com',
    'john%26%23x40%3Bexample.com',
    String.raw`john\u0040example.com`,
  ])
    assert.equal(pseudonymizeVisitorId(id), `sha256:${em}`)
})

it('turns an international phone number into the digest that ph would have', () => {
  const [ph] = normalizeMetaUserData({ ph: '+16505551212' }).digests.ph ?? []
  for (const id of [
    '+16505551212',
    '+1 (650) 555-1212',
    ' +1.650.555.1212',
    '%2B16505551212',
    '&#43;16505551212',
  ])
    assert.equal(pseudonymizeVisitorId(id), `sha256:${ph}`)
})

it('agrees with ph about a trunk zero in brackets', () => {
  const [ph] = normalizeMetaUserData({ ph: '+4930901820' }).digests.ph ?? []
  assert.equal(pseudonymizeVisitorId('+49 (0)30 901820'), `sha256:${ph}`)
})

it('hashes what only looks like an email address or a phone number, too', () => {
  for (const id of ['@', 'user@host', 'a b@c', '+999999999999999'])
    assert.match(pseudonymizeVisitorId(id), /^sha256:[0-9a-f]{64}$/)
})

it('is its own key, and no key shows an @', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.emailAddress(), fc.uuid()), id => {
      const key = pseudonymizeVisitorId(id)
      assert.equal(pseudonymizeVisitorId(key), key)
      assert.ok(!key.includes('@'))
    }),
  )
})
