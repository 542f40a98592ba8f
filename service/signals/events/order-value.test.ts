import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { computeOrderValue, findRefundEffect, isSameAmount } from './order-value.ts'

const SECRET = 0
const PAGE = 1

function valued(valueAmount: string | null, valueCurrency: string | null = 'EUR', space = SECRET) {
  return { valueAmount, valueCurrency, space }
}

function netOf(gross: string, ...refunds: ReturnType<typeof valued>[]) {
  const value = computeOrderValue({ purchase: valued(gross), refunds })
  return value && [value.net, value.refunded, value.isBeyondValue]
}

describe('the net value of an order', () => {
  for (const { name, net } of [
    { name: 'is the purchase without refunds', net: [netOf('19.90'), ['19.90', '0.00', false]] },
    {
      name: 'ignores the sign of a refund amount',
      net: [netOf('10', valued('-2.5'), valued('2.5')), ['5.0', '5.0', false]],
    },
    {
      name: 'keeps every digit',
      net: [netOf('0.3', valued('0.1'), valued('0.100001')), ['0.099999', '0.200001', false]],
    },
    {
      name: 'is never below zero, and says that the refunds are more',
      net: [netOf('10.00', valued('7'), valued('7')), ['0.00', '14.00', true]],
    },
    {
      name: 'is zero after a refund without a value',
      net: [netOf('10.00', valued('3'), valued(null, null)), ['0.00', '10.00', false]],
    },
    {
      name: 'leaves out other currencies, missing ones, and what pages send',
      net: [
        netOf('10', valued('1', 'USD'), valued('1', null), valued('1', 'EUR', PAGE)),
        ['10', '0', false],
      ],
    },
  ]) {
    it(name, () => assert.deepEqual(net[0], net[1]))
  }

  it('is unknown without a purchase, its currency or a value that is not below zero', () => {
    for (const purchase of [null, valued(null), valued('1', null), valued('-5'), valued('-0.01')]) {
      assert.equal(computeOrderValue({ purchase, refunds: [] }), null)
      for (const refund of [valued('1'), valued(null, null), valued('1', 'USD')]) {
        assert.equal(computeOrderValue({ purchase, refunds: [refund] }), null)
        assert.equal(findRefundEffect(refund, purchase), 'no_purchase_value')
      }
      assert.equal(findRefundEffect(valued('1', 'EUR', PAGE), purchase), 'of_page')
    }
    assert.deepEqual(netOf('-0.00'), ['0.00', '0.00', false])
  })

  it('is exact, and the same in any order of the refunds', () => {
    const cents = fc.integer({ min: 0, max: 10 ** 9 })
    const toText = (amount: number) => (BigInt(amount) * 10n ** 4n).toString().padStart(7, '0')
    const asDecimal = (amount: number) => toText(amount).replace(/(\d{6})$/, '.$1')
    fc.assert(
      fc.property(cents, fc.array(cents, { maxLength: 8 }), (gross, refunds) => {
        const events = refunds.map(amount => valued(asDecimal(amount)))
        const [net] = netOf(asDecimal(gross), ...events) ?? []
        const [reversed] = netOf(asDecimal(gross), ...events.toReversed()) ?? []
        const left = Math.max(
          0,
          refunds.reduce((rest, amount) => rest - amount, gross),
        )
        assert.equal(net, reversed)
        assert.ok(isSameAmount(String(net), asDecimal(left)))
      }),
    )
  })
})
