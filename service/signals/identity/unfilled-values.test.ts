import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, it } from 'node:test'
import { normalizeMetaUserData } from '../../../testing/fixtures/meta-identity.ts'
import { DROP_REASONS } from './dropped-fields.ts'
import { EMPTY_DIGEST } from './identifier-formats.ts'
import { computeLookupDigests } from './lookup-digests.ts'

const TIMES = { eventTime: new Date(0), observedAt: new Date(0) }
const IDENTIFIERS = ['em', 'ph', 'external_id', 'app_user_id']
const NAMES = ['fn', 'ln', 'ct', 'st', 'fi', 'f5first', 'f5last']

const UNFILLED = [
  ...['undefined', '[object Object]', '(not set)', '{{name}}', '{{ customer.first_name }}', '-'],
  ...[
    '[object Undefined]',
    '[object Promise]',
    '{{first}} {{last}}',
    '\u0024{name}',
    '<%= name %>',
    '–',
  ],
  ...[
    '{email}',
    '<email>',
    '[email]',
    '__EMAIL__',
    '*|EMAIL|*',
    '#{name}',
    '***',
    '@',
    '%FIRST_NAME%',
  ],
  ...[' UNDEFINED ', '(Not Set)', '%%FIRST_NAME%%', '--', '[[name]]', 'unde\u00adfined'],
]
const EMPTY_IDS = [
  'null',
  'None',
  'NaN',
  'N/A',
  'nil',
  '(null)',
  '(none)',
  'NULL',
  '#N/A',
  'Not Set',
  'unknown',
]
const GUESTS = ['0', '00000000-0000-0000-0000-000000000000', 'Guest', 'anonymous', 'false', 'TRUE']

function reasonOf(field: string, value: string): string | null {
  const { digests, dropped } = normalizeMetaUserData({ [field]: value })
  assert.equal(digests[field] === undefined, dropped.length === 1, `${field} ${value}`)
  return dropped[0]?.reason ?? null
}

describe('a value that was never filled', () => {
  it('is nobody in every field, as text', () => {
    for (const field of [...IDENTIFIERS, ...NAMES])
      for (const value of UNFILLED)
        assert.equal(reasonOf(field, value), DROP_REASONS.placeholder, `${field} ${value}`)
  })

  it('is nobody in an ID and may be a name in a name', () => {
    for (const value of [...EMPTY_IDS, ...GUESTS]) {
      for (const field of IDENTIFIERS)
        assert.equal(reasonOf(field, value), DROP_REASONS.placeholder, `${field} ${value}`)
    }
    for (const name of ['Null', 'Test', 'Nan', 'None', 'Nil', 'Na']) {
      for (const field of NAMES) assert.equal(reasonOf(field, name), null, `${field} ${name}`)
    }
  })

  it('is nobody as a digest', () => {
    for (const field of [...IDENTIFIERS, ...NAMES, 'zp', 'country']) {
      for (const text of ['undefined', '[object Object]', '(not set)', '{{name}}', '-'])
        assert.equal(reasonOf(field, hash('sha256', text)), DROP_REASONS.placeholder, text)
      assert.equal(reasonOf(field, '0'.repeat(64)), DROP_REASONS.placeholder, field)
      assert.equal(reasonOf(field, EMPTY_DIGEST.toUpperCase()), DROP_REASONS.emptyDigest, field)
    }
    for (const text of ['null', 'None', 'NaN', 'N/A', 'NULL', '0']) {
      const digest = hash('sha256', text)
      for (const field of IDENTIFIERS)
        assert.equal(reasonOf(field, digest), DROP_REASONS.placeholder, `${field} ${text}`)
      for (const field of NAMES) assert.equal(reasonOf(field, digest), null, `${field} ${text}`)
    }
  })

  it('finds nobody either', () => {
    const values = [...UNFILLED, ...EMPTY_IDS, '0'.repeat(64), hash('sha256', 'undefined'), '']
    for (const key of ['em', 'ph', 'external_id', 'sha256_phone_number']) {
      for (const value of [...values, ...GUESTS]) {
        assert.deepEqual(computeLookupDigests({ [key]: value }, TIMES), {}, `${key} ${value}`)
      }
    }
  })

  it('names a person when it only begins like one', () => {
    for (const id of ['null-7', 'undefined1', 'nancy', 'none@example.com', '{7}', '-1', '00']) {
      assert.equal(reasonOf('external_id', id), null, id)
    }
    assert.equal(reasonOf('em', 'undefined@example.com'), null)
  })
})

describe('invisible characters', () => {
  const INVISIBLE = [
    ...['\u00ad', '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u202a', '\u202e'],
    ...['\u2060', '\u2066', '\u2069', '\ufe00', '\ufe0f', '\ufeff', '\u061c', '\u034f', '\u180e'],
  ]

  it('are removed before a value is read', () => {
    const values = {
      em: ['jane', '@example.com'],
      ph: ['+49 151', '23456789'],
      external_id: ['Customer', '-7'],
      fn: ['Ja', 'ne'],
      ct: ['New', ' York'],
      zp: ['94', '035'],
      country: ['D', 'E'],
      db: ['1997', '-02-16'],
    }
    for (const [field, [start = '', end = '']] of Object.entries(values)) {
      const plain = normalizeMetaUserData({ [field]: start + end }).digests
      assert.ok(plain[field], field)
      for (const one of INVISIBLE) {
        const code = one.codePointAt(0)?.toString(16)
        for (const text of [start + one + end, one + start + end, start + end + one]) {
          assert.deepEqual(
            normalizeMetaUserData({ [field]: text }).digests,
            plain,
            `${field} ${code}`,
          )
        }
      }
    }
  })

  it('are removed from digests and from IDs that travel as they are', () => {
    const digest = hash('sha256', 'jane@example.com')
    const { digests, plain } = normalizeMetaUserData({
      em: `\ufeff${digest}\u200b`,
      lead_id: '\u200b1234567890',
      fbp: 'fb.1.1596403881668.1116446470\u200e',
    })
    assert.deepEqual(digests, { em: [digest] })
    assert.deepEqual(plain, { lead_id: '1234567890', fbp: 'fb.1.1596403881668.1116446470' })
  })

  it('alone are an empty value', () => {
    for (const field of [...IDENTIFIERS, ...NAMES])
      assert.equal(reasonOf(field, '\u200b\ufeff'), DROP_REASONS.empty, field)
  })
})

it('digests an ID of the caller without its white space', () => {
  const expected = normalizeMetaUserData({ external_id: 'user-42' }).digests
  for (const id of ['USER -42', 'user\t-42', 'us\u00a0er-42', ' u s e r - 4 2 ', 'user-42\r\n']) {
    assert.deepEqual(normalizeMetaUserData({ external_id: id }).digests, expected, id)
  }
  assert.deepEqual(normalizeMetaUserData({ app_user_id: 'USER -42' }).digests, {
    app_user_id: expected.external_id,
  })
})
