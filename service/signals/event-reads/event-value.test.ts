import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

it('returns every digit of the submitted value', async test => {
  const service = await startTestService(test)
  for (const [value, token] of [
    ['19.95', '19.95'],
    ['19.950', '19.950'],
    ['0', '0'],
    ['0.00', '0.00'],
    ['100', '100'],
    ['1.000000', '1.000000'],
    ['0.000001', '0.000001'],
    ['-5.50', '-5.50'],
    ['007.50', '7.50'],
    ['-007', '-7'],
    ['000', '0'],
    ['123456789012345.678901', '123456789012345.678901'],
    ['999999999999999.999999', '999999999999999.999999'],
    ['-999999999999999.999999', '-999999999999999.999999'],
  ] as const) {
    const text = await readValue(service, value)
    assert.match(text, new RegExp(`"value_amount":${token.replaceAll('.', '\\.')},`), value)
    assert.ok(text.includes(`"value_data":{"value":"${value}"`), value)
  }
})

it('returns any valid decimal digit by digit as valid JSON', async test => {
  const service = await startTestService(test)
  const decimal = fc.stringMatching(/^-?\d{1,15}(\.\d{1,6})?$/)
  await fc.assert(
    fc.asyncProperty(decimal, async value => {
      const text = await readValue(service, value)
      const [, token = ''] = /"value_amount":([^,]+),/.exec(text) ?? []
      assert.equal(token.replace('-', ''), withoutLeadingZeros(value.replace('-', '')))
      assert.equal(token.startsWith('-'), value.startsWith('-') && /[1-9]/.test(value))
      assert.equal(JSON.parse(text).event.value_data.value, value)
    }),
    { numRuns: 60 },
  )
})

it('returns null for a missing value, with or without a currency', async test => {
  const service = await startTestService(test)
  const value_data = { currency: 'chf', order_id: '7' }
  await service.submit(samplePurchase({ value_data }))
  const { event } = (await service.read('order-1001')).body
  assert.equal(event.value_amount, null)
  assert.equal(event.value_currency, 'CHF')
  assert.equal(event.order_id, '7')
})

let count = 0

async function readValue(service: TestService, value: string): Promise<string> {
  count += 1
  const event_id = `order-${count}`
  const reply = await service.submit(
    samplePurchase({ event_id, value_data: { value, currency: 'EUR' } }),
  )
  assert.equal(reply.status, 202, value)
  return (await service.read(event_id)).text
}

function withoutLeadingZeros(value: string): string {
  return value.replace(/^0+(?=\d)/, '')
}
