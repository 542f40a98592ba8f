import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizeEmail, normalizeIdentifier, normalizeText } from './identifier-formats.ts'

it('an email address needs one @, a dotted domain and nothing around it', () => {
  for (const whole of ['a@b.co', "o'neil+tag@mail.example.com", 'josé@bücher.de', '"a@b"@c.de'])
    assert.equal(normalizeEmail(whole), whole)
  for (const broken of [
    'a@localhost',
    'a@b.c',
    'a@@example.com',
    'a@b@example.com',
    'a b <a@example.com>',
    '<a@example.com>',
    'mailto:a@example.com',
    'a@example..com',
    'a@example.com.',
    'a@example.com,b@example.com',
    'a\u200b@example.com',
    `${'a'.repeat(250)}@b.co`,
  ])
    assert.equal(normalizeEmail(broken), null, broken)
})

it('IDs are compared without NFKC, so that stored visitor IDs keep their digests', () => {
  assert.equal(normalizeText(' Ａ-①é'), 'ａ-①é')
  assert.equal(normalizeText('e\u0301'), 'é')
  assert.equal(normalizeIdentifier(' Ａ-①é'), 'a-1é')
  assert.equal(normalizeIdentifier('O´Brien ＡＢ'), 'o´brien ab')
})
