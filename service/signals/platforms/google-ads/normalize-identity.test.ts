import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hashIdentifier } from '../../identity/normalize-user-data.ts'
import type { SubmittedIdentity } from '../platform.ts'
import { canMatchPerson, normalizeGoogleIdentity } from './normalize-identity.ts'

function accept(userData: Record<string, unknown>, members: Partial<SubmittedIdentity> = {}) {
  return normalizeGoogleIdentity({
    userData,
    clickIds: {},
    eventSource: undefined,
    eventTime: new Date('2026-11-21T12:00:00Z'),
    observedAt: new Date('2026-11-21T12:00:01Z'),
    ...members,
  })
}

/** What is hashed, by Google's page on formatting and its own library. */
const EMAILS: [given: string, hashed: string][] = [
  [' Jane.Roe@Example.com ', 'jane.roe@example.com'],
  ['jane.roe+shop@example.com', 'jane.roe+shop@example.com'],
  ['Jane.Roe+Shop@Gmail.com', 'janeroe@gmail.com'],
  ['j.a.n.e@googlemail.com', 'jane@googlemail.com'],
  ['jane+a+b@gmail.com', 'jane@gmail.com'],
  ['jane.roe@gmail.com.example', 'jane.roe@gmail.com.example'],
  ['jane.roe@mail.gmail.com', 'jane.roe@mail.gmail.com'],
]

const PHONES: [given: string, country: string | undefined, hashed: string][] = [
  ['+1 (650) 555-1212', undefined, '+16505551212'],
  ['6505551212', 'US', '+16505551212'],
  ['0049 30 901820', undefined, '+4930901820'],
  ['030 901820', 'DE', '+4930901820'],
]

describe('email addresses and phone numbers', () => {
  for (const [given, hashed] of EMAILS) {
    it(`hashes ${given} as ${hashed}`, () => {
      assert.deepEqual(accept({ em: given }).digests, { em: [hashIdentifier(hashed)] })
    })
  }

  for (const [given, country, hashed] of PHONES) {
    it(`hashes ${given} as ${hashed}`, () => {
      assert.deepEqual(accept({ ph: given, country }).digests, { ph: [hashIdentifier(hashed)] })
    })
  }

  it('has the digests of known texts', () => {
    const { digests } = accept({ em: 'jane.roe@gmail.com', ph: '+16505551212' })
    assert.deepEqual(digests, {
      em: ['c6eb6efe9f7a4be511f1871d1712a1b684157f2c6eaafada128b7c9d7fa754eb'],
      ph: ['1e231c66011e7a2d867a9cfae267a6aff103cf4913640b6e71a99850fc0ffbc8'],
    })
  })

  it('leaves out what is no address, and a mailbox that is all tag', () => {
    for (const em of ['jane', 'jane @gmail.com', '+shop@gmail.com', '..@gmail.com', 'undefined'])
      assert.deepEqual(accept({ em }).digests, {}, em)
  })

  it("keeps a caller's digest of an email address, and no digest of a phone number", () => {
    const digest = 'ab'.repeat(32)
    const { digests, dropped } = accept({ em: digest.toUpperCase(), ph: digest })
    assert.deepEqual(digests, { em: [digest] })
    assert.deepEqual(
      dropped.map(({ field }) => field),
      ['user_data.ph'],
    )
    for (const name of ['sha256_phone_number', 'hashed_ph', 'phone_sha256'])
      assert.deepEqual(accept({ [name]: digest }).digests, {}, name)
  })

  it('makes no digest of names, places and other IDs', () => {
    const { digests } = accept({ fn: 'Jane', ln: 'Roe', zp: '94025', external_id: '4711', ct: 'X' })
    assert.deepEqual(digests, {})
  })
})

describe('the address of the network', () => {
  const ip = '93.184.216.34'
  const ipOf = (userData: Record<string, unknown>) =>
    accept({ client_ip_address: ip, client_user_agent: 'Browser/1.0', ...userData }).plain

  it('is left out where nothing says that the person is elsewhere', () => {
    assert.deepEqual(ipOf({}), { client_user_agent: 'Browser/1.0' })
    const digest = hashIdentifier('us')
    for (const country of ['DE', 'uk', 'CH', 'Norway', 'gp', 'nowhere', digest, ['us', 'fr']])
      assert.equal(ipOf({ country }).client_ip_address, undefined, String(country))
    const address = [{ country: 'US' }, { country: 'FR' }]
    assert.equal(ipOf({ address }).client_ip_address, undefined)
  })

  it('is kept for a person of another country', () => {
    for (const country of ['US', 'br', 'Japan', ['us', 'ca']])
      assert.equal(ipOf({ country }).client_ip_address, ip, String(country))
    assert.equal(ipOf({ address: { country: 'AU' } }).client_ip_address, ip)
    assert.equal(
      ipOf({ client_ip_address: '10.0.0.1', country: 'US' }).client_ip_address,
      undefined,
    )
  })
})

describe('whether Google may find a person', () => {
  it('needs a click or a person, and neither a browser nor a session is one', () => {
    const none = { digests: {}, plain: {} }
    assert.equal(canMatchPerson(none, {}), false)
    assert.equal(canMatchPerson(none, { session_attributes: 'abc', fbclid: 'x' }), false)
    assert.equal(canMatchPerson({ ...none, plain: { client_user_agent: 'x' } }, {}), false)
    assert.equal(canMatchPerson({ ...none, digests: { em: ['a'] } }, {}), true)
    for (const name of ['gclid', 'gbraid', 'wbraid'])
      assert.equal(canMatchPerson(none, { [name]: 'abc' }), true)
  })
})
