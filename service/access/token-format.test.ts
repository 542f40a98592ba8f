import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { newToken, TOKEN_MARKS, type TokenKind, tokenDigest, tokenKind } from './token-format.ts'

const KINDS = Object.keys(TOKEN_MARKS) as TokenKind[]

it('marks each kind, and knows the kind of every token it makes', () => {
  for (const kind of KINDS) {
    const token = newToken(kind)
    assert.match(token, new RegExp(`^${TOKEN_MARKS[kind]}[0-9a-f]{72}$`))
    assert.equal(tokenKind(token), kind)
  }
})

it('never makes the same token twice', () => {
  const tokens = Array.from({ length: 1_000 }, () => newToken('tracker_secret'))
  assert.equal(new Set(tokens).size, tokens.length)
})

it('tells a mistyped token from a whole one, whatever the letter', () => {
  const token = newToken('tracker_secret')
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.string({ maxLength: 1 }), (at, letter) => {
      fc.pre(letter !== token[at])
      assert.equal(tokenKind(token.slice(0, at) + letter + token.slice(at + 1)), null)
    }),
    { numRuns: 1_000 },
  )
})

it('does not take the random part of one kind for another kind', () => {
  for (const kind of KINDS) {
    const body = newToken(kind).slice(TOKEN_MARKS[kind].length)
    for (const other of KINDS) {
      const expected = other === kind ? kind : null
      assert.equal(tokenKind(TOKEN_MARKS[other] + body), expected)
    }
  }
})

it('knows no kind of other text', () => {
  const token = newToken('tracker_secret')
  for (const text of ['', 'sbx_sk_', 'sbx_sk', token.toUpperCase(), ` ${token}`, `${token}0`]) {
    assert.equal(tokenKind(text), null, text)
  }
  fc.assert(fc.property(fc.string(), text => tokenKind(text) === null))
})

it('digests to 32 bytes that do not hold the token', () => {
  const token = newToken('tracker_secret')
  assert.equal(tokenDigest(token).length, 32)
  assert.deepEqual(tokenDigest(token), tokenDigest(`${token}`))
  assert.notDeepEqual(tokenDigest(token), tokenDigest(newToken('tracker_secret')))
})
