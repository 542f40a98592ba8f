import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { decimalOf, millionthsOf } from './millionths.ts'

it('writes what the platform gave, with a digit after the point', () => {
  for (const [score, text] of [
    [6.2, '6.2'],
    [6.25, '6.25'],
    [0, '0.0'],
    [-0, '0.0'],
    [10, '10.0'],
    [0.1 + 0.2, '0.3'],
    ['7.10', '7.1'],
  ] as const) {
    assert.equal(decimalOf(millionthsOf(score)), text)
  }
})

it('takes away without the dust of binary fractions', () => {
  assert.equal(decimalOf(millionthsOf(7.3) - millionthsOf(7)), '0.3')
  assert.equal(decimalOf(millionthsOf(5.9) - millionthsOf('7.2')), '-1.3')
  assert.equal(decimalOf(millionthsOf(1.1) - millionthsOf(1.05)), '0.05')
})

it('comes back from its text unchanged', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -10_000_000n, max: 10_000_000n }), millionths => {
      assert.equal(millionthsOf(decimalOf(millionths)), millionths)
    }),
  )
})
