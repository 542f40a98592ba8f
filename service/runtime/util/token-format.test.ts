import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import {
  generateToken,
  hashToken,
  parseTokenKind,
  TOKEN_PREFIXES,
  type TokenKind,
} from './token-format.ts'

const KINDS = Object.keys(TOKEN_PREFIXES) as TokenKind[]

it('prefixes each kind and parses the kind of every generated token', () => {
  for (const kind of KINDS) {
    const token = generateToken(kind)
    assert.match(token, new RegExp(`^${TOKEN_PREFIXES[kind]}[0-9a-f]{72}$`))
    assert.equal(parseTokenKind(token), kind)
  }
})

it('generates unique tokens', () => {
  const tokens = Array.from({ length: 1_000 }, () => generateToken('tracker_secret'))
  assert.equal(new Set(tokens).size, tokens.length)
})

it('detects any single mistyped character', () => {
  const token = generateToken('tracker_secret')
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.string({ maxLength: 1 }), (at, letter) => {
      fc.pre(letter !== token[at])
      assert.equal(parseTokenKind(token.slice(0, at) + letter + token.slice(at + 1)), null)
    }),
    { numRuns: 1_000 },
  )
})

it('rejects the random part of one kind under the prefix of another', () => {
  for (const kind of KINDS) {
    const body = generateToken(kind).slice(TOKEN_PREFIXES[kind].length)
    for (const other of KINDS) {
      const expected = other === kind ? kind : null
      assert.equal(parseTokenKind(TOKEN_PREFIXES[other] + body), expected)
    }
  }
})

it('returns null for other text', () => {
  const token = generateToken('tracker_secret')
  for (const text of ['', 'sbx_sk_', 'sbx_sk', token.toUpperCase(), ` ${token}`, `${token}0`]) {
    assert.equal(parseTokenKind(text), null, text)
  }
  fc.assert(fc.property(fc.string(), text => parseTokenKind(text) === null))
})

it('hashes to 32 bytes that do not contain the token', () => {
  const token = generateToken('tracker_secret')
  assert.equal(hashToken(token).length, 32)
  assert.deepEqual(hashToken(token), hashToken(`${token}`))
  assert.notDeepEqual(hashToken(token), hashToken(generateToken('tracker_secret')))
})
