import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import type { OutboundEvent } from '../platform.ts'
import { validateMetaEvent } from './payload.ts'

const DIGEST = 'e'.repeat(64)

function faultOf(changes: Partial<OutboundEvent>): string | null {
  return validateMetaEvent(sampleOutboundEvent(changes))?.message ?? null
}

it('finds nothing wrong with the least that Meta takes', () => {
  assert.equal(faultOf({}), null)
  assert.equal(faultOf({ eventName: 'PageView', valueAmount: null, valueCurrency: null }), null)
  assert.equal(faultOf({ valueAmount: '0' }), null)
  assert.equal(faultOf({ digests: {}, plain: { fbp: 'fb.1.1795262400000.1' } }), null)
})

it('refuses an event without a customer identifier', () => {
  const tooLittle = [
    { digests: {}, plain: {} },
    { digests: {}, plain: { client_user_agent: 'Mozilla/5.0' } },
    {
      digests: { ct: [DIGEST], country: [DIGEST], zp: [DIGEST] },
      plain: { client_user_agent: 'x' },
    },
    { digests: { fn: [DIGEST], ge: [DIGEST] }, plain: {} },
    { digests: { em: [], ph: [''] }, plain: { fbp: '' } },
    { digests: { shoe_size: [DIGEST] }, plain: { favorite_color: 'blue' } },
  ]
  for (const person of tooLittle) {
    assert.match(faultOf(person) ?? '', /^The user_data holds too little to match a person/)
  }
})

it('asks for no user agent and no page address, as Meta does not', () => {
  assert.equal(faultOf({ eventSource: null, digests: { em: [DIGEST] }, plain: {} }), null)
})

it('refuses what must be hashed and is not, by its name and without its value', () => {
  for (const key of 'em ph fn ln ge db ct st zp country'.split(' ')) {
    const message = `The user_data.${key} must be a SHA-256 digest.`
    for (const raw of ['ada@example.com', 'e'.repeat(63), 'g'.repeat(64)]) {
      assert.equal(faultOf({ digests: { external_id: [DIGEST], [key]: [DIGEST, raw] } }), message)
      assert.equal(faultOf({ plain: { [key]: raw } }), message)
    }
    assert.equal(faultOf({ digests: { external_id: [DIGEST], [key]: [DIGEST] } }), null)
  }
  assert.equal(faultOf({ digests: { external_id: ['customer-7'] } }), null)
})

it('refuses an event without a name, and a time that is none', () => {
  assert.equal(faultOf({ eventName: '' }), 'An event needs an event_name.')
  assert.equal(faultOf({ eventTime: new Date(Number.NaN) }), 'The event_time is no time.')
})

it('refuses a purchase without a value or a currency, or with a negative value', () => {
  const negative = 'A Purchase cannot have a negative value.'
  for (const nothing of [null, '']) {
    assert.equal(faultOf({ valueAmount: nothing }), 'A Purchase needs value_data.value.')
    assert.equal(faultOf({ valueCurrency: nothing }), 'A Purchase needs value_data.currency.')
  }
  assert.deepEqual(
    ['-0.01', '-10'].map(valueAmount => faultOf({ valueAmount })),
    [negative, negative],
  )
  for (const zero of ['0', '0.00', '-0.00']) assert.equal(faultOf({ valueAmount: zero }), null)
  assert.equal(faultOf({ eventName: 'Refund', valueAmount: '-5.00' }), null)
  assert.equal(faultOf({ eventName: 'Lead', valueCurrency: null }), null)
})

it('refuses a value that is no decimal and a currency that does not exist', () => {
  for (const eventName of ['Purchase', 'Lead']) {
    for (const valueAmount of ['12,50', '1e3', ' 1', '+1', 'NaN', '1.', '.5', '\u0661']) {
      const message = 'The value_data.value must be a decimal number.'
      assert.equal(faultOf({ eventName, valueAmount }), message)
    }
    for (const valueCurrency of ['US', 'EURO', '\u20ac\u20ac\u20ac', 'EU ']) {
      const message = 'The value_data.currency must be a currency of ISO 4217.'
      assert.equal(faultOf({ eventName, valueCurrency }), message)
    }
    assert.equal(faultOf({ eventName, valueCurrency: 'usd' }), null)
  }
})

it('says that the fault was found here, with no code of the platform', () => {
  assert.deepEqual(validateMetaEvent(sampleOutboundEvent({ valueAmount: null })), {
    class: 'local',
    code: null,
    subcode: null,
    message: 'A Purchase needs value_data.value.',
    user_title: null,
    user_message: null,
    http_status: null,
  })
})
