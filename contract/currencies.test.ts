import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isCurrencyCode } from './currencies.ts'

it('contains every current currency of the Unicode data in this Node', () => {
  const withdrawn = ['HRK', 'SLL', 'ZWL']
  const noPrice = ['XDR', 'XSU']
  const unknown = Intl.supportedValuesOf('currency').filter(code => !isCurrencyCode(code))
  for (const code of unknown) assert.ok([...withdrawn, ...noPrice].includes(code), code)
})

it('reads codes in any case', () => {
  for (const code of ['EUR', 'eur', 'Usd', 'JPY', 'KWD', 'CLF', 'XOF']) {
    assert.equal(isCurrencyCode(code), true, code)
  }
})

it('refuses codes that do not exist or are not used for prices', () => {
  const wrong = 'FKE XXX XTS XAU XDR DEM AAA EUX EURO EU'.split(' ')
  for (const code of [...wrong, '', 'constructor']) assert.equal(isCurrencyCode(code), false, code)
})
