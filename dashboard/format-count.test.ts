import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatMoney } from './src/components/format-count.ts'

it('writes exact amounts with separators and at least two digits', () => {
  const texts = (amounts: readonly string[]) =>
    amounts.map(amount => formatMoney({ amount, currency: 'EUR' }))
  assert.deepEqual(texts(['0', '1859.4', '1070.70', '9007199254740993.10']), [
    '0.00 EUR',
    '1,859.40 EUR',
    '1,070.70 EUR',
    '9,007,199,254,740,993.10 EUR',
  ])
  assert.deepEqual(texts(['-20.5', '0.12345', '100']), ['-20.50 EUR', '0.12345 EUR', '100.00 EUR'])
  assert.equal(formatMoney({ amount: '5', currency: null }), '5.00')
})
