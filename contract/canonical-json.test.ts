import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from './canonical-json.ts'

it('serializes the example of RFC 8785, section 3.2.2, as in section 3.2.4', () => {
  const value = JSON.parse(`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
    "literals": [null, true, false]
  }`)
  assert.equal(
    canonicalJson(value),
    '{"literals":[null,true,false],' +
      '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
})

it('sorts members by UTF-16 code units, as in section 3.2.3', () => {
  const value = JSON.parse(`{
    "\\u20ac": "Euro Sign", "\\r": "Carriage Return", "\\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One", "\\ud83d\\ude00": "Emoji: Grinning Face", "\\u0080": "Control",
    "\\u00f6": "Latin Small Letter O With Diaeresis"
  }`)
  const words = [...canonicalJson(value).matchAll(/:"(\w+)/g)].map(([, word]) => word)
  assert.deepEqual(words, ['Carriage', 'One', 'Control', 'Latin', 'Euro', 'Emoji', 'Hebrew'])
})

it('serializes numbers as in appendix B', () => {
  for (const [value, text] of [
    [-0, '0'],
    [-5e-324, '-5e-324'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [9007199254740992, '9007199254740992'],
    [295147905179352830000, '295147905179352830000'],
    [9.999999999999997e22, '9.999999999999997e+22'],
    [1e21, '1e+21'],
    [999999999999999900000, '999999999999999900000'],
    [9.999999999999997e-7, '9.999999999999997e-7'],
    [0.000001, '0.000001'],
    [333333333.33333325, '333333333.33333325'],
    [-0.0000033333333333333333, '-0.0000033333333333333333'],
    [1424953923781206.2, '1424953923781206.2'],
  ] as const) {
    assert.equal(canonicalJson(value), text)
  }
})

it('serializes equal values identically, and parses back to the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), value => {
      const text = canonicalJson(value)
      const other = JSON.parse(JSON.stringify(shuffled(value), null, 3))
      assert.equal(canonicalJson(other), text)
      assert.equal(canonicalJson(JSON.parse(text)), text)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
    }),
  )
})

it('keeps a member named __proto__', () => {
  const text = '{"__proto__":{"x":1},"a":2}'
  assert.equal(canonicalJson(JSON.parse(text)), text)
})

it('rejects values that JSON cannot represent, and lone surrogates', () => {
  for (const value of [undefined, Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, Array(1)]) {
    assert.throws(() => canonicalJson({ member: [value] }), /^TypeError: JSON cannot represent /)
  }
  assert.throws(() => canonicalJson(['\ud83d']), /lone surrogate/)
  assert.throws(() => canonicalJson({ '\ude00': 1 }), /lone surrogate/)
})

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, shuffled(member)]),
  )
}
