import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DELIVERY_REASONS } from '@signalbox/contract/reasons.ts'
import type { StoredDelivery } from '../signals/delivery/delivery-store.ts'
import type { StoredEvent } from '../signals/events/event-store.ts'
import { adviseReplay } from './replay-advice.ts'

const AT = new Date('2026-11-21T12:00:00Z')
const LATER = new Date('2026-11-22T12:00:00Z')

function advise(
  status: string,
  statusReason: string,
  { attemptIds = [], ...event }: { payload: object | null; attemptIds?: string[] },
) {
  const delivery = { status, statusReason, attemptIds } as unknown as StoredDelivery
  const context = { event: event as StoredEvent, windowEndsAt: LATER, at: AT }
  return adviseReplay(delivery, context)
}

const STORED = { payload: {} }

it('offers a replay where it can help, and else says what to do', () => {
  for (const [status, reason, canReplay, advice] of [
    ['failed:auth', 'destination_refused', true, null],
    ['failed:unknown', 'single_attempt', true, null],
    ['failed:permanent', 'request_failed', true, null],
    ['failed:permanent', 'refused_by_platform', true, /^A replay .+ under a new event ID\.$/],
    ['failed:permanent', 'refused_before_sending', false, /send it under a new event ID\.$/],
    ['failed:permanent', 'no_platform_identity', false, /under a new event ID, with one\.$/],
    ['failed:unknown', 'not_deduplicated', false, /would count a copy/],
  ] as const) {
    const found = advise(status, reason, STORED)
    assert.equal(found.canReplay, canReplay, reason)
    if (advice === null) assert.equal(found.advice, null, reason)
    else assert.match(found.advice ?? '', advice, reason)
  }
})

it('offers a replay of what one destination could not send, which may have changed', () => {
  const { canReplay, advice } = advise('failed:permanent', 'refused_before_sending', {
    ...STORED,
    attemptIds: ['1'],
  })
  assert.deepEqual([canReplay, /once the destination can send it/.test(advice ?? '')], [true, true])
})

it('offers none without the identity, after the window, and for what did not fail', () => {
  const expired = advise('failed:auth', 'destination_refused', { payload: null })
  assert.deepEqual([expired.canReplay, /deleted/.test(expired.advice ?? '')], [false, true])
  const delivery = { status: 'failed:auth', statusReason: 'destination_refused' } as StoredDelivery
  const late = { event: STORED as StoredEvent, windowEndsAt: AT, at: LATER }
  const { canReplay, advice } = adviseReplay(delivery, late)
  assert.deepEqual([canReplay, /older than the platform accepts/.test(advice ?? '')], [false, true])
  for (const [status, reasons] of Object.entries(DELIVERY_REASONS)) {
    if (status.startsWith('failed:')) continue
    for (const reason of reasons) {
      assert.deepEqual(advise(status, reason, STORED), { canReplay: false, advice: null })
    }
  }
})
