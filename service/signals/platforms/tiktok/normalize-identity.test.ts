import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { normalizeTiktokIdentity } from './normalize-identity.ts'

const AT = new Date('2026-11-21T12:00:00Z')

function normalize(userData: Record<string, unknown>) {
  return normalizeTiktokIdentity({
    userData,
    clickIds: {},
    eventSource: undefined,
    eventTime: AT,
    observedAt: AT,
  })
}

/** The text that is hashed; null: the value is left out. */
const VECTORS: readonly [string, Record<string, unknown>, string | null][] = [
  ['em', { em: ' Jane.Roe+tag@Example.COM ' }, 'jane.roe+tag@example.com'],
  ['em', { em: 'Jane.Roe@GMail.com' }, 'jane.roe@gmail.com'],
  ['em', { em: 'jane at example.com' }, null],
  // TikTok's own two examples.
  ['ph', { ph: '+86 138 0000 0000' }, '13800000000'],
  ['ph', { ph: '+1 (213) 373-4253' }, '+12133734253'],
  ['ph', { ph: '0086-138-0013-8000' }, '13800138000'],
  ['ph', { ph: '13800138000', country: 'CN' }, '13800138000'],
  ['ph', { ph: '8613800138000' }, '13800138000'],
  // Neighbors of +86: Taiwan, Hong Kong and Macau have codes of their own.
  ['ph', { ph: '+886 912 345 678' }, '+886912345678'],
  ['ph', { ph: '+852 5123 4567' }, '+85251234567'],
  ['ph', { ph: '+853 6612 3456' }, '+85366123456'],
  // A number that has 86 elsewhere keeps it.
  ['ph', { ph: '+1 860 555 0123' }, '+18605550123'],
  ['ph', { ph: '+49 (0)30 901820' }, '+4930901820'],
  ['ph', { ph: '030 901820', country: 'DE' }, '+4930901820'],
  ['ph', { ph: '+33 6 12 34 56 78' }, '+33612345678'],
  ['ph', { ph: '(650)555-1212' }, null],
  ['ph', { ph: '+1 650 555 1212 ext. 5' }, null],
  ['fn', { fn: ' Anne-Marie ' }, 'annemarie'],
  ['ln', { ln: "O'Brien" }, 'obrien'],
  ['ln', { ln: 'Müller' }, 'müller'],
  ['zp', { zp: '94035-1234', country: 'US' }, '94035'],
  ['zp', { zp: 'SW1A 1AA', country: 'GB' }, 'sw1a1aa'],
  ['zp', { zp: 2134, country: 'US' }, '02134'],
  // TikTok's template trims IDs and keeps their case.
  ['external_id', { external_id: ' User-7B ' }, 'User-7B'],
  ['external_id', { external_id: 'user-7b' }, 'user-7b'],
  ['external_id', { external_id: 4_711 }, '4711'],
  ['external_id', { external_id: 'NULL' }, null],
]

for (const [key, userData, text] of VECTORS) {
  it(`normalizes ${JSON.stringify(userData)} to ${text}`, () => {
    const expected = text === null ? undefined : [hash('sha256', text)]
    assert.deepEqual(normalize(userData).digests[key], expected)
  })
}

it('takes no city, state, country, gender or birthday, which TikTok does not hash', () => {
  const { digests, plain } = normalize({
    ct: 'Berlin',
    st: 'Berlin',
    country: 'DE',
    ge: 'f',
    db: '1990-05-03',
    client_ip_address: '93.184.216.34',
    client_user_agent: 'B/1',
  })
  assert.deepEqual(digests, {})
  assert.deepEqual(plain, { client_ip_address: '93.184.216.34', client_user_agent: 'B/1' })
})

it('takes digests of callers in any case, and none of phones or of an empty text', () => {
  const digest = hash('sha256', 'jane@example.com')
  assert.deepEqual(normalize({ em: digest.toUpperCase() }).digests, { em: [digest] })
  assert.deepEqual(normalize({ external_id: digest }).digests, { external_id: [digest] })
  const { digests, dropped } = normalize({ ph: digest, em: hash('sha256', '') })
  assert.deepEqual(digests, {})
  assert.equal(dropped.length, 2)
})
