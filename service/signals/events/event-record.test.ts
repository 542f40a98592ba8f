import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { ledgerEntry } from '../../../testing/fixtures/stored-events.ts'
import { stripIdentity } from './event-record.ts'

const DIGEST = hash('sha256', 'jane@example.com')

it('keeps the facts and removes the identity', () => {
  const event = ledgerEntry({
    eventSource: 'https://shop.example/a/b',
    session: { visitorId: 'visitor-1', landingSource: null, clickIds: {} },
    orderId: '1001',
  })
  assert.deepEqual(stripIdentity(event, new Set([DIGEST])), {
    ...event,
    bodyDigest: Buffer.alloc(0),
    payload: null,
    session: null,
  })
})

it('keeps a withdrawal under keys that were not erased', () => {
  const withdrawnKeys = [
    'visitor-1',
    DIGEST,
    `sha256:${DIGEST}`,
    `external_id:${DIGEST}`,
    'sha256:a',
  ]
  const event = stripIdentity(ledgerEntry({ withdrawnKeys }), new Set([DIGEST]))
  assert.deepEqual(event.withdrawnKeys, ['visitor-1', 'sha256:a'])
  assert.equal(event.eventSource, null)
  const visitor = ledgerEntry({ withdrawnKeys: [' Customer-9', 'customer-10'] })
  const { withdrawnKeys: remaining } = stripIdentity(
    visitor,
    new Set([hash('sha256', 'customer-9')]),
  )
  assert.deepEqual(remaining, ['customer-10'])
})
