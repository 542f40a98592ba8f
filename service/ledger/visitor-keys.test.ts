import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { normalizeUserData } from '../identity/normalize-user-data.ts'
import { visitorKey } from '../identity/visitor-key.ts'
import { visitorKeysOf, withdrawalKeys } from './visitor-keys.ts'

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Whether a withdrawal of this visitor id reaches an event with this visitor and user_data. */
function reaches(
  withdrawn: string,
  event: { visitorId?: string; userData?: Record<string, unknown> },
): boolean {
  const { digests } = normalizeUserData(event.userData)
  const visitorId = event.visitorId === undefined ? null : visitorKey(event.visitorId)
  const keys = visitorKeysOf({ visitorId, digests })
  const person = { visitorId: visitorKey(withdrawn), digests: {} }
  return withdrawalKeys(person).some(key => keys.includes(key))
}

it('reaches events of the same visitor id and of no other', () => {
  assert.equal(reaches('v-1', { visitorId: 'v-1' }), true)
  assert.equal(reaches('v-1', { visitorId: 'v-2' }), false)
  assert.equal(reaches('v-1', {}), false)
})

it('reaches events that carry the person only as external_id, raw or hashed', () => {
  assert.equal(reaches('crm-42', { userData: { external_id: 'crm-42' } }), true)
  assert.equal(reaches('crm-42', { userData: { external_id: ['x', 'crm-42'] } }), true)
  assert.equal(reaches('crm-42', { userData: { external_id: sha256('crm-42') } }), true)
  assert.equal(reaches('crm-42', { userData: { external_id: 'crm-43' } }), false)
})

it('reaches events by the e-mail address or phone number that was given as visitor id', () => {
  assert.equal(reaches(' Jane@Example.com', { userData: { em: 'jane@example.com' } }), true)
  assert.equal(reaches('jane@example.com', { visitorId: 'JANE@example.com' }), true)
  assert.equal(reaches('jane@example.com', { userData: { external_id: 'jane@example.com' } }), true)
  assert.equal(reaches('+49 30 901820', { userData: { ph: '+4930901820' } }), true)
  assert.equal(reaches('jane@example.com', { userData: { em: 'john@example.com' } }), false)
})

it('reads no person out of an event that has lost its payload', () => {
  assert.deepEqual(visitorKeysOf(null), [])
})
