import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { DictionaryCodec } from './dictionary-codec.ts'

const PHRASES = ['{"title":"', '"title":"', '","price":"', "it's ", '~A', 'ü\\n']

const packedJson = new DictionaryCodec(PHRASES)

function roundTrip(value: unknown, given: string | null): unknown {
  const stored = packedJson.encode(JSON.stringify(value), given)
  return packedJson.decode(JSON.parse(stored), given)
}

it('writes phrases as two characters, and what is given as a mark', () => {
  const text = '{"title":"Lamp","price":"19.95","order":"A-1"}'
  const packed = packedJson.encode(text, '"A-1"')
  assert.equal(packed, `"~ALamp~C19.95','order':~0}"`)
  assert.deepEqual(packedJson.decode(JSON.parse(packed), '"A-1"'), JSON.parse(text))
})

it('gives back every JSON value, whatever is given and whatever looks like a mark', () => {
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

it('takes what was stored before as it is', () => {
  assert.deepEqual(packedJson.decode({ title: '~A' }), { title: '~A' })
  assert.equal(packedJson.decode(null), null)
})

it('refuses a mark that it does not know, instead of leaving something out', () => {
  assert.throws(() => packedJson.decode('{~Z}'), /has ~Z, which this version does not know/)
  assert.throws(() => packedJson.decode('{~0}'), /has ~0/)
})

it('has no more phrases than marks', () => {
  const phrases = Array.from({ length: 53 }, (_, index) => `phrase ${index}`)
  assert.throws(() => new DictionaryCodec(phrases), /more phrases/)
})
