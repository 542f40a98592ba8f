import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizeBirthDate, normalizeCountry, normalizeEmail } from './identifier-formats.ts'

it('an e-mail address needs one @, a dotted domain and nothing around it', () => {
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

it('a year-last date that could be two days is dropped', () => {
  assert.equal(normalizeBirthDate('02/03/1997'), null)
  assert.equal(normalizeBirthDate('03/03/1997'), '19970303')
  assert.equal(normalizeBirthDate('31.12.1999'), '19991231')
  assert.equal(normalizeBirthDate('12-31-1999'), '19991231')
})

it('a birth date is a day of the calendar from 1900 on', () => {
  assert.equal(normalizeBirthDate('2000-02-29'), '20000229')
  assert.equal(normalizeBirthDate('1997/2/6'), '19970206')
  for (const impossible of [
    '1900-02-29',
    '2001-02-29',
    '1899-12-31',
    '2100-01-01',
    '1997-00-10',
    '1997-1216',
    '1997-02-16t00:00:00z',
    '19970000',
  ])
    assert.equal(normalizeBirthDate(impossible), null, impossible)
})

it('every region that Intl knows by an assigned code is a country, and nothing else is', () => {
  const letters = [...'abcdefghijklmnopqrstuvwxyz']
  const accepted = letters
    .flatMap(first => letters.map(second => first + second))
    .filter(code => normalizeCountry(code) === code)
  const named = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  assert.equal(accepted.length, 250)
  assert.deepEqual(
    accepted.filter(code => named.of(code.toUpperCase()) === undefined),
    [],
  )
  assert.equal(normalizeCountry('constructor'), null)
})
