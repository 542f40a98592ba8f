import assert from 'node:assert/strict'
import { it } from 'node:test'
import { outboundEvent } from '../../../testing/outbound-event.ts'
import type { OutboundEvent } from '../platform.ts'
import { metaEventFault } from './event-fault.ts'

function faultOf(changes: Partial<OutboundEvent>): string | null {
  return metaEventFault(outboundEvent(changes))?.message ?? null
}

it('finds nothing wrong with the least that Meta takes', () => {
  assert.equal(faultOf({}), null)
  assert.equal(faultOf({ eventName: 'PageView', valueAmount: null, valueCurrency: null }), null)
  assert.equal(faultOf({ valueAmount: '0' }), null)
  assert.equal(faultOf({ digests: {}, plain: { fbp: 'fb.1.1795262400000.1' } }), null)
})

it('knows every action_source of Meta and no other', () => {
  const known = 'email website app phone_call chat physical_store system_generated'.split(' ')
  for (const actionSource of [...known, 'business_messaging', 'other']) {
    assert.equal(faultOf({ actionSource }), null)
  }
  for (const actionSource of ['', 'Website', 'store', 'constructor']) {
    assert.match(
      faultOf({ actionSource }) ?? '',
      /^The action_source must be one of email, website,/,
    )
  }
})

it('refuses an event that points at nobody', () => {
  const tooLittle = [
    { digests: {}, plain: {} },
    { digests: {}, plain: { client_user_agent: 'Mozilla/5.0' } },
    { digests: { ct: ['c'], country: ['c'], zp: ['z'] }, plain: { client_user_agent: 'x' } },
    { digests: { fn: ['f'], ge: ['g'] }, plain: {} },
  ]
  for (const person of tooLittle) {
    assert.match(faultOf(person) ?? '', /^The user_data holds too little to match a person/)
  }
})

it('refuses a purchase without a value or with a negative one', () => {
  assert.equal(faultOf({ valueAmount: null }), 'A Purchase needs value_data.value.')
  assert.equal(faultOf({ valueAmount: '-0.01' }), 'A Purchase cannot have a negative value.')
  assert.equal(faultOf({ eventName: 'Refund', valueAmount: '-5.00' }), null)
})

it('says that the fault was found here, with no code of the platform', () => {
  assert.deepEqual(metaEventFault(outboundEvent({ valueAmount: null })), {
    class: 'local',
    code: null,
    subcode: null,
    message: 'A Purchase needs value_data.value.',
    user_title: null,
    user_message: null,
    http_status: null,
  })
})
