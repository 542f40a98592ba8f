import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { DictionaryCodec } from './column-dictionaries.ts'

const PHRASES = ['{"title":"', '"title":"', '","price":"', "it's ", '~A', 'ü\\n']

const codec = new DictionaryCodec(PHRASES)

function roundTrip(value: unknown, given: string | null): unknown {
  const stored = codec.encode(JSON.stringify(value), given)
  return codec.decode(JSON.parse(stored), given)
}

it('encodes phrases and the given text as two characters', () => {
  const text = '{"title":"Lamp","price":"19.95","order":"A-1"}'
  const encoded = codec.encode(text, '"A-1"')
  assert.equal(encoded, `"~ALamp~C19.95','order':~0}"`)
  assert.deepEqual(codec.decode(JSON.parse(encoded), '"A-1"'), JSON.parse(text))
})

it('round-trips every JSON value, including text that looks like a code', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('~', "'", '"', '\\', 'A', '0', '\x01', '\n', 'ü', '{') }),
    fc.constantFrom(...PHRASES, '~0', '~~0', `~'`, 'title', '\ud800'),
  )
  const values = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue(),
      texts,
      fc.array(tie('value')),
      fc.dictionary(texts, tie('value')),
    ),
  })).value
  fc.assert(
    fc.property(values, fc.option(texts), (value, given) => {
      const written = JSON.parse(JSON.stringify(value))
      const quoted = given === null ? null : JSON.stringify(given).slice(1, -1)
      assert.deepEqual(roundTrip(value, quoted), written)
      assert.deepEqual(roundTrip({ title: value, given }, quoted), { title: written, given })
    }),
    { numRuns: 300 },
  )
})

it('encodes a repeated text as the first one, with any given text', () => {
  const repeating = new DictionaryCodec(PHRASES, { repeats: true })
  for (const order of ['"A-1"', '"A-2"', '"A-1"']) {
    const text = `{"title":"Lamp","order":${order}}`
    assert.equal(repeating.encode(text, order), codec.encode(text, order))
    assert.equal(repeating.encode(text), codec.encode(text))
  }
})

it('returns values from before the encoding unchanged', () => {
  assert.deepEqual(codec.decode({ title: '~A' }), { title: '~A' })
  assert.equal(codec.decode(null), null)
})

it('throws on an unknown code', () => {
  assert.throws(() => codec.decode('{~Z}'), /has the code ~Z, which this version does not know/)
  assert.throws(() => codec.decode('{~0}'), /has the code ~0/)
})

it('throws when there are more phrases than codes', () => {
  const phrases = Array.from({ length: 53 }, (_, index) => `phrase ${index}`)
  assert.throws(() => new DictionaryCodec(phrases), /more phrases/)
})
