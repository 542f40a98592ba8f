import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { containsIdentifier, redactIdentifiers } from './redact-submission.ts'

const redact = (text: string) => redactIdentifiers(text, normalized => `<${normalized}>`)

it('replaces email addresses and leaves the rest of the text', () => {
  for (const [text, expected] of [
    ['jane@example.com', '<jane@example.com>'],
    ['Order of Jane@Example.COM, paid', 'Order of <jane@example.com>, paid'],
    ['a@b.example;c.d+tag@e.example', '<a@b.example>;<c.d+tag@e.example>'],
    ['mailto:jane@example.com', 'mailto:<jane@example.com>'],
    ['müller@bücher.example', '<müller@bücher.example>'],
    ['jane@xn--bcher-kva.xn--p1ai', '<jane@xn--bcher-kva.xn--p1ai>'],
    ['<jane@example.com>', '<<jane@example.com>>'],
    ['to "jane doe"@example.com', 'to <"jane doe"@example.com>'],
    ["o'hara@example.com", "o'<hara@example.com>"],
  ]) {
    assert.equal(redact(text as string), expected)
  }
})

it('replaces international phone numbers in every grouping by one token', () => {
  for (const text of [
    '+4915123456789',
    '+49 151 2345 6789',
    '+49-151-23456789',
    '+49 (151) 2345.6789',
    '+0049 151 23456789',
  ]) {
    assert.equal(redact(`tel ${text}!`), 'tel <+4915123456789>!', text)
  }
  assert.equal(redact('+1 (616) 555-0100'), '<+16165550100>')
})

it('finds identifiers that are encoded or written in full width', () => {
  for (const [text, expected] of [
    ['jane%40example.com', '<jane@example.com>'],
    ['jane%2540example.com', '<jane@example.com>'],
    ['ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ', '<jane@example.com>'],
    ['＋８１ ９０ １２３４ ５６７８', '<+819012345678>'],
    ['%2B4915123456789', '<+4915123456789>'],
  ]) {
    assert.equal(redact(text as string), expected)
  }
})

it('leaves order numbers, handles, sums, times and percentages alone', () => {
  for (const text of [
    '1001',
    '4915123456789',
    '0151 23456789',
    'SKU+12',
    '2+2=4',
    '@jane',
    'by @jane.doe',
    'jane@localhost',
    '2026-11-23T10:00:00+01:00',
    '2026-11-23 10:00:00 +0000 2026-11-24',
    '50% off, 100%25',
    '+1234567890123456789',
    'Größe 38 – blau',
  ]) {
    assert.equal(redact(text), text)
    assert.equal(containsIdentifier(text), false, text)
  }
})

it('leaves no address and no international number in any text', () => {
  const part = fc.oneof(
    fc.string(),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('@', '+', '%40', '%2B', ' ', '.', '＠', 'jane', 'example.com', '49151'),
    fc.emailAddress(),
    fc
      .tuple(fc.constantFrom('+49', '+1 ', '+81-'), fc.stringMatching(/^\d{8,10}$/))
      .map(x => x.join('')),
  )
  const texts = fc.array(part, { maxLength: 8 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(texts, text => {
      const redacted = redactIdentifiers(text, () => '[token]')
      assert.equal(containsIdentifier(redacted), false, redacted)
    }),
    { numRuns: 5_000 },
  )
})

it('works in time linear to the text', () => {
  for (const text of ['@', 'a@', 'a@b.', '+1', '+1 ', '%40', 'a.a@a.'].map(one =>
    one.repeat(20_000),
  )) {
    redactIdentifiers(text, () => '')
  }
})
