import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { ledgerEntry } from '../../testing/stored-events.ts'
import { stripIdentity } from './event-record.ts'

const DIGEST = hash('sha256', 'jane@example.com')

it('keeps what happened, and nothing of who it was', () => {
  const entry = ledgerEntry({
    eventSource: 'https://shop.example/a/b',
    session: { visitorId: 'visitor-1', landingSource: null, clickIds: {} },
    orderId: '1001',
  })
  assert.deepEqual(stripIdentity(entry, new Set([DIGEST])), {
    ...entry,
    bodyDigest: Buffer.alloc(0),
    payload: null,
    session: null,
  })
})

it('keeps a withdrawal under the keys that were not erased', () => {
  const withdrawalOf = [
    'visitor-1',
    DIGEST,
    `sha256:${DIGEST}`,
    `external_id:${DIGEST}`,
    'sha256:a',
  ]
  const entry = stripIdentity(ledgerEntry({ withdrawnKeys: withdrawalOf }), new Set([DIGEST]))
  assert.deepEqual(entry.withdrawnKeys, ['visitor-1', 'sha256:a'])
  assert.equal(entry.eventSource, null)
  const visitor = ledgerEntry({ withdrawnKeys: [' Customer-9', 'customer-10'] })
  const { withdrawnKeys: left } = stripIdentity(visitor, new Set([hash('sha256', 'customer-9')]))
  assert.deepEqual(left, ['customer-10'])
})
