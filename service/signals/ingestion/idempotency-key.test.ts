import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { formatIdempotencyKey, resolveEventId } from './idempotency.ts'

it('uses the event_id of the body, then the key, then none', () => {
  assert.deepEqual(resolveEventId('a', undefined), { eventId: 'a' })
  assert.deepEqual(resolveEventId(undefined, 'a'), { eventId: 'a' })
  assert.deepEqual(resolveEventId(undefined, undefined), { eventId: null })
  assert.deepEqual(resolveEventId('a', 'a'), { eventId: 'a' })
})

it('unquotes a quoted key with its escapes and leaves half-quoted text unchanged', () => {
  for (const [key, eventId] of [
    ['"a b"', 'a b'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['"', '"'],
    ['"a', '"a'],
    ['a"', 'a"'],
    ['"a"b"', '"a"b"'],
    ['"a\\b"', '"a\\b"'],
    ['W/"a"', 'W/"a"'],
  ] as const) {
    assert.deepEqual(resolveEventId(undefined, key), { eventId }, key)
  }
})

it('compares the unquoted key with the event_id exactly', () => {
  assert.deepEqual(resolveEventId('a b', '"a b"'), { eventId: 'a b' })
  for (const key of ['A b', 'a b ', '"a b "', 'a  b']) {
    const identity = resolveEventId('a b', key)
    assert.equal('error' in identity && identity.error.field, 'event_id', key)
  }
})

it('reports an invalid key on the header, even when the body has an event_id', () => {
  for (const key of [
    '',
    '""',
    ' ',
    'x'.repeat(129),
    '\u{e9}',
    formatIdempotencyKey('a\u{85}b'),
    '.',
    '..',
  ]) {
    const identity = resolveEventId(undefined, key)
    assert.equal('error' in identity && identity.error.field, 'Idempotency-Key', key)
  }
  const identity = resolveEventId('a', '')
  assert.equal('error' in identity && identity.error.field, 'Idempotency-Key')
})

it('counts characters, not bytes or UTF-16 units', () => {
  const longest = '🧾'.repeat(128)
  assert.deepEqual(resolveEventId(undefined, formatIdempotencyKey(longest)), { eventId: longest })
  assert.ok('error' in resolveEventId(undefined, formatIdempotencyKey(`${longest}x`)))
})

it('formats a header that parses back to the same event ID', () => {
  const anyId = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
    fc.string({ unit: fc.constantFrom('"', '\\', ' ', 'a', 'à', '\u{a0}', '.'), minLength: 1 }),
  )
  const isId = (id: string) => id.trim() !== '' && !/\p{Cc}|^\.{1,2}$/u.test(id)
  fc.assert(
    fc.property(anyId.filter(isId), id => {
      const header = formatIdempotencyKey(id)
      // What HTTP cannot carry or would trim must not be in a header.
      assert.match(header, /^[\x21-\x7e\x80-\xff]([\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/)
      assert.deepEqual(resolveEventId(undefined, header), { eventId: id })
      assert.deepEqual(resolveEventId(id, header), { eventId: id })
    }),
    { numRuns: 1_000 },
  )
})

it('returns an event ID of at most 128 characters or an error for any header', () => {
  const anyHeader = fc.string({ unit: fc.nat(255).map(code => String.fromCharCode(code)) })
  fc.assert(
    fc.property(fc.option(fc.string(), { nil: undefined }), anyHeader, (id, header) => {
      const identity = resolveEventId(id, header)
      if ('error' in identity) assert.match(identity.error.message, /^The .+\.$/)
      else assert.ok([...(identity.eventId ?? '')].length <= 128)
    }),
    { numRuns: 1_000 },
  )
})
