import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { decideAccepted, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { NOT_WITHDRAWN } from '../events/withdrawal-store.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import { type PlanInput, planEvent } from './plan-event.ts'

const PLATFORMS = createOfflinePlatforms()

const RECEIVED_AT = new Date('2026-11-21T12:00:00.000Z')
const LATER = new Date('2026-11-28T12:00:00.000Z')
const TRACKER_ID = '00000000-0000-4000-8000-000000000001'
const LIVE = { id: 'destination-1', platform: 'meta', isTest: false }
const TESTING = { id: 'destination-2', platform: 'meta', isTest: true }

it('queues one delivery per destination, each with its own ID and test mode', () => {
  const { record, deliveries } = plan(samplePurchase(), { routes: [LIVE, TESTING] })
  assert.equal(record.eventId, 'order-1001')
  const shared = { trackerId: TRACKER_ID, eventId: 'order-1001', space: 'secret' }
  const queued = { ...shared, status: 'queued', statusReason: 'accepted_for_delivery' }
  assert.deepEqual(deliveries, [
    { ...queued, id: 1, destinationId: 'destination-1', isTest: false },
    { ...queued, id: 2, destinationId: 'destination-2', isTest: true },
  ])
})

it('plans one delivery without a destination, for the trace', () => {
  const { deliveries } = plan(samplePurchase(), { routes: [] })
  assert.deepEqual(
    deliveries.map(({ destinationId, status }) => [destinationId, status]),
    [[null, 'skipped:no_destination']],
  )
})

it('skips for consent before it checks destinations and age', () => {
  const unreadable = samplePurchase({ consent: { ads: 'vielleicht' } })
  for (const routes of [[], [LIVE]]) {
    const { record, deliveries } = plan(unreadable, { routes, windowEndsAt: () => RECEIVED_AT })
    assert.deepEqual(
      deliveries.map(({ status, statusReason }) => [status, statusReason]),
      [['skipped:consent', 'no_signal']],
    )
    assert.equal(record.session, null)
    assert.equal(record.measurementClass, 'ledger_only')
    assert.ok(record.payload)
  }
})

it('stores nothing about the visitor on legitimate interest', () => {
  const mark = { event_id: 'bye', event_name: 'consent_withdrawal', event_source: CLICKED }
  const interest = { ...mark, consent_basis: 'legitimate_interest' }
  const { record } = plan({ ...interest, visitor_id: 'visitor-1' })
  assert.deepEqual([record.eventSource, record.bodyDigest.length], ['https://a.example/b', 0])
  const { record: ofNobody } = plan(interest)
  assert.deepEqual([ofNobody.eventSource, ofNobody.bodyDigest.length], ['https://a.example/b', 32])
  const consented = plan(samplePurchase({ event_source: CLICKED })).record
  assert.deepEqual(
    [consented.eventSource, consented.bodyDigest.length],
    ['https://a.example/b', 32],
  )
  assert.equal(consented.payload?.pageUrl, CLICKED)
  const plain = plan(samplePurchase({ event_source: 'https://a.example/b' })).record
  assert.equal(plain.payload?.pageUrl, undefined)
})

const CLICKED = 'https://a.example/b?fbclid=AbC#c'

it('expires the delivery exactly at the end of the platform window', () => {
  const [expired] = plan(samplePurchase(), { windowEndsAt: () => RECEIVED_AT }).deliveries
  assert.equal(expired?.status, 'expired')
  const justInTime = new Date(RECEIVED_AT.getTime() + 1)
  const [queued] = plan(samplePurchase(), { windowEndsAt: () => justInTime }).deliveries
  assert.equal(queued?.status, 'queued')
})

it('withholds a granted event if the visitor withdrew after the consent', () => {
  const withdrawnAt = new Date('2026-11-21T11:30:00.000Z')
  const withdrawals = { bySecret: withdrawnAt, byPage: null }
  const { record, deliveries } = plan(samplePurchase(), { withdrawals })
  assert.equal(deliveries[0]?.status, 'skipped:consent')
  assert.equal(deliveries[0]?.statusReason, 'consent_withdrawn')
  assert.equal(record.attributionJoin, 'none')
  assert.equal(record.session, null)
  const decision = (JSON.parse(record.consent ?? '') as { decision: object }).decision
  assert.partialDeepStrictEqual(decision, { outcome: 'withheld', reason: 'consent_withdrawn' })
  const earlier = new Date('2026-11-21T10:54:59.999Z')
  const before = plan(samplePurchase(), { withdrawals: { bySecret: earlier, byPage: earlier } })
  assert.equal(before.deliveries[0]?.status, 'queued')
})

it("names a page's withdrawal only where the tracker secret has none that counts", () => {
  const late = new Date('2026-11-21T11:30:00.000Z')
  const early = new Date('2026-11-21T10:54:59.999Z')
  const reasonOf = (bySecret: Date | null, byPage: Date | null) =>
    plan(samplePurchase(), { withdrawals: { bySecret, byPage } }).deliveries[0]?.statusReason
  assert.equal(reasonOf(null, late), 'withdrawn_by_page')
  assert.equal(reasonOf(early, late), 'withdrawn_by_page')
  assert.equal(reasonOf(late, late), 'consent_withdrawn')
  assert.equal(reasonOf(late, early), 'consent_withdrawn')
})

it('strips the identity of an erased person, even after a withdrawal', () => {
  const digest = hash('sha256', 'jane@example.com')
  const erasure = { erased: new Set([digest]), keyed: ['ab'] }
  const withdrawals = { bySecret: new Date('2026-11-21T11:30:00.000Z'), byPage: null }
  const { record, deliveries } = plan(samplePurchase(), { erasure, withdrawals })
  assert.deepEqual(
    deliveries.map(({ status, statusReason }) => [status, statusReason]),
    [['skipped:consent', 'erased']],
  )
  assert.deepEqual([record.payload, record.session], [null, null])
  assert.equal(record.bodyDigest.length, 0)
  assert.equal(record.valueAmount, '19.95')
  assert.deepEqual([record.measurementClass, record.attributionJoin], ['ledger_only', 'none'])
  assert.deepEqual(record.assumedNotErased, [])
})

it('assumes that no one was erased until keyed digests are available', () => {
  assert.equal(plan(samplePurchase()).record.assumedNotErased, 'all')
  const erasure = { erased: new Set<string>(), keyed: ['ab', 'cd'] }
  const { record } = plan(samplePurchase(), { erasure })
  assert.deepEqual(record.assumedNotErased, ['ab', 'cd'])
  assert.ok(record.payload)
})

it('stores a lifecycle event on legitimate interest without payload, session, or delivery', () => {
  const { record, deliveries } = plan({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'visitor-1',
    click_ids: { fbclid: 'AbC' },
  })
  assert.deepEqual(deliveries, [])
  assert.equal(record.payload, null)
  assert.equal(record.session, null)
  assert.equal(record.eventClass, 'lifecycle')
})

it('stores a withdrawal on any basis without payload and without the digest of its body', () => {
  const { record } = plan({
    event_name: 'consent_withdrawal',
    consent_basis: 'consent',
    user_data: { em: 'jane@example.com' },
  })
  assert.equal(record.payload, null)
  assert.equal(record.bodyDigest.length, 0)
})

it('stores amounts as sent and only known members of value_data', () => {
  const value_data = { value: '007.50', currency: 'eur', num_items: 2, tax: '1', contents: ['a'] }
  const { record } = plan(samplePurchase({ value_data }))
  assert.equal(record.valueAmount, '007.50')
  assert.equal(record.valueCurrency, 'EUR')
  assert.equal(record.orderId, null)
  assert.deepEqual(JSON.parse(record.valueData ?? ''), {
    value: '007.50',
    currency: 'EUR',
    contents: ['a'],
    num_items: 2,
  })
})

it('dates consent by its signal and an attestation not at all', () => {
  const dated = plan(samplePurchase()).record
  assert.equal(dated.consentCapturedAt?.toISOString(), '2026-11-21T11:00:00.000Z')
  const attested = plan(samplePurchase({ consent: { captured_at: '2026-11-21T11:00:00Z' } })).record
  assert.equal(attested.consentCapturedAt, null)
  const undated = plan(samplePurchase({ consent: { ads: 'granted' } })).record
  assert.equal(undated.consentCapturedAt, null)
})

it('skips a platform that was connected after the decision', () => {
  const other = { ...LIVE, id: 'other', platform: 'other' }
  const { record, deliveries } = plan(samplePurchase(), { routes: [LIVE, other] })
  assert.deepEqual(
    deliveries.map(({ status, statusReason }) => [status, statusReason]),
    [
      ['queued', 'accepted_for_delivery'],
      ['skipped:consent', 'consent_not_decided'],
    ],
  )
  assert.equal(record.payload?.platforms, undefined)
})

function plan(body: Record<string, unknown>, input: Partial<PlanInput> = {}) {
  let lastId = 0
  return planEvent(draftOf(body as unknown as EventSubmission), {
    withdrawals: NOT_WITHDRAWN,
    routes: [LIVE],
    windowEndsAt: () => LATER,
    nextDeliveryId: () => {
      lastId += 1
      return lastId
    },
    ...input,
  })
}

function draftOf(body: EventSubmission): EventDraft {
  const moment = { receivedAt: RECEIVED_AT, eventTime: RECEIVED_AT }
  const decision = decideAccepted(body, RECEIVED_AT)
  const eventId = body.event_id ?? 'evt_1'
  return draftEvent(body, {
    platforms: PLATFORMS,
    trackerId: TRACKER_ID,
    eventId,
    decision,
    ...moment,
  })
}
