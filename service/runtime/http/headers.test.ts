import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { readBearerToken } from './headers.ts'

it('reads the token regardless of the case of the scheme and of spaces', () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    assert.equal(readBearerToken(`${scheme} sbx_sk_1`), 'sbx_sk_1')
    assert.equal(readBearerToken(`${scheme}   sbx_sk_1  `), 'sbx_sk_1')
  }
  assert.equal(readBearerToken('Bearer a-._~+/Z9=='), 'a-._~+/Z9==')
})

it('returns null without a header, for another scheme or several tokens', () => {
  for (const header of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'sbx_sk_1',
    'Basic c2J4X3NrXzE6',
    'Bearersbx_sk_1',
    'Bearer\tsbx_sk_1',
    'Bearer a b',
    'Bearer a, Bearer b',
    'Bearer =a',
    'Bearer "a"',
    'Bearer ä',
    'Bearer a\n',
    'XBearer a',
  ]) {
    assert.equal(readBearerToken(header), null, header)
  }
})

it('reads any token of RFC 6750 and rejects long invalid headers', () => {
  const token = fc.stringMatching(/^[A-Za-z0-9._~+/-]{1,80}={0,2}$/)
  fc.assert(fc.property(token, text => readBearerToken(`Bearer ${text}`) === text))
  assert.equal(readBearerToken(`Bearer ${'='.repeat(16_000)} x`), null)
  assert.equal(readBearerToken(`Bearer ${' '.repeat(16_000)}`), null)
  assert.equal(readBearerToken(`Bearer a${' '.repeat(16_000)}b`), null)
})
