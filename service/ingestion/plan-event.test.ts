import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { samplePurchase } from '../../testing/sample-purchase.ts'
import { decideConsent } from '../consent/consent-decision.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'
import { draftEvent, type EventDraft } from './event-draft.ts'
import { type PlanInput, planEvent } from './plan-event.ts'

const PLATFORMS = createOfflinePlatforms()

const RECEIVED_AT = new Date('2026-11-21T12:00:00.000Z')
const LATER = new Date('2026-11-28T12:00:00.000Z')
const TRACKER_ID = '00000000-0000-4000-8000-000000000001'
const LIVE = { id: 'destination-1', platform: 'meta', isTest: false }
const TESTING = { id: 'destination-2', platform: 'meta', isTest: true }

it('queues one delivery a destination, each with an id and a test mode of its own', () => {
  const { entry, deliveries } = plan(samplePurchase(), { routes: [LIVE, TESTING] })
  assert.equal(entry.eventId, 'order-1001')
  const shared = { trackerId: TRACKER_ID, eventId: 'order-1001', space: 'secret' }
  const queued = { ...shared, status: 'queued', statusReason: 'accepted_for_delivery' }
  assert.deepEqual(deliveries, [
    { ...queued, id: 1, destinationId: 'destination-1', isTest: false },
    { ...queued, id: 2, destinationId: 'destination-2', isTest: true },
  ])
})

it('plans one delivery without a destination, so that the trace says why nothing left', () => {
  const { deliveries } = plan(samplePurchase(), { routes: [] })
  assert.deepEqual(
    deliveries.map(({ destinationId, status }) => [destinationId, status]),
    [[null, 'skipped:no_destination']],
  )
})

it('skips for consent before it looks for a destination or at the age', () => {
  const unreadable = samplePurchase({ consent: { ads: 'vielleicht' } })
  for (const routes of [[], [LIVE]]) {
    const { entry, deliveries } = plan(unreadable, { routes, windowEndsAt: () => RECEIVED_AT })
    assert.deepEqual(
      deliveries.map(({ status, statusReason }) => [status, statusReason]),
      [['skipped:consent', 'no_signal']],
    )
    assert.equal(entry.session, null)
    assert.equal(entry.measurementClass, 'ledger_only')
    assert.ok(entry.payload)
  }
})

it('keeps no trace of the visitor of a legitimate interest, which an erasure would not find', () => {
  const mark = { event_id: 'bye', event_name: 'consent_withdrawal', event_source: CLICKED }
  const interest = { ...mark, consent_basis: 'legitimate_interest' }
  const { entry } = plan({ ...interest, visitor_id: 'visitor-1' })
  assert.deepEqual([entry.eventSource, entry.bodyDigest.length], ['https://a.example/b', 0])
  const { entry: ofNobody } = plan(interest)
  assert.deepEqual([ofNobody.eventSource, ofNobody.bodyDigest.length], ['https://a.example/b', 32])
  const consented = plan(samplePurchase({ event_source: CLICKED })).entry
  assert.deepEqual(
    [consented.eventSource, consented.bodyDigest.length],
    ['https://a.example/b', 32],
  )
  assert.equal(consented.payload?.pageUrl, CLICKED)
  const plain = plan(samplePurchase({ event_source: 'https://a.example/b' })).entry
  assert.equal(plain.payload?.pageUrl, undefined)
})

const CLICKED = 'https://a.example/b?fbclid=AbC#c'

it('expires what the platform takes no more, to the millisecond', () => {
  const [expired] = plan(samplePurchase(), { windowEndsAt: () => RECEIVED_AT }).deliveries
  assert.equal(expired?.status, 'expired')
  const justInTime = new Date(RECEIVED_AT.getTime() + 1)
  const [queued] = plan(samplePurchase(), { windowEndsAt: () => justInTime }).deliveries
  assert.equal(queued?.status, 'queued')
})

it('withholds a granted event whose visitor withdrew after that consent', () => {
  const withdrawnAt = new Date('2026-11-21T11:30:00.000Z')
  const { entry, deliveries } = plan(samplePurchase(), { withdrawnAt })
  assert.equal(deliveries[0]?.status, 'skipped:consent')
  assert.equal(deliveries[0]?.statusReason, 'consent_withdrawn')
  assert.equal(entry.attributionJoin, 'none')
  assert.equal(entry.session, null)
  const decision = (JSON.parse(entry.consent ?? '') as { decision: object }).decision
  assert.partialDeepStrictEqual(decision, { outcome: 'withheld', reason: 'consent_withdrawn' })
  const before = plan(samplePurchase(), { withdrawnAt: new Date('2026-11-21T10:59:59.999Z') })
  assert.equal(before.deliveries[0]?.status, 'queued')
})

it('keeps an event of an erased person without identity, even if more is known', () => {
  const digest = hash('sha256', 'jane@example.com')
  const erasure = { erased: new Set([digest]), keyed: ['ab'] }
  const withdrawnAt = new Date('2026-11-21T11:30:00.000Z')
  const { entry, deliveries } = plan(samplePurchase(), { erasure, withdrawnAt })
  assert.deepEqual(
    deliveries.map(({ status, statusReason }) => [status, statusReason]),
    [['skipped:consent', 'erased']],
  )
  assert.deepEqual([entry.payload, entry.session], [null, null])
  assert.equal(entry.bodyDigest.length, 0)
  assert.equal(entry.valueAmount, '19.95')
  assert.deepEqual([entry.measurementClass, entry.attributionJoin], ['ledger_only', 'none'])
  assert.deepEqual(entry.assumedNotErased, [])
})

it('presumes that no one was erased, until it is told by which digests to ask', () => {
  assert.equal(plan(samplePurchase()).entry.assumedNotErased, 'all')
  const erasure = { erased: new Set<string>(), keyed: ['ab', 'cd'] }
  const { entry } = plan(samplePurchase(), { erasure })
  assert.deepEqual(entry.assumedNotErased, ['ab', 'cd'])
  assert.ok(entry.payload)
})

it('keeps a lifecycle event on legitimate interest without payload, session or delivery', () => {
  const { entry, deliveries } = plan({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'visitor-1',
    click_ids: { fbclid: 'AbC' },
  })
  assert.deepEqual(deliveries, [])
  assert.equal(entry.payload, null)
  assert.equal(entry.session, null)
  assert.equal(entry.eventClass, 'lifecycle')
  assert.equal(entry.withdrawnKeys[0], 'visitor-1')
  assert.equal(entry.withdrawnKeys.length, 2)
})

it('remembers a withdrawal only of an event that is one', () => {
  assert.deepEqual(plan(samplePurchase()).entry.withdrawnKeys, [])
  const nobody = { event_name: 'consent_withdrawal', consent_basis: 'legitimate_interest' }
  assert.deepEqual(plan(nobody).entry.withdrawnKeys, [])
})

it('keeps money as the text that was sent, and only the members that it knows', () => {
  const value_data = { value: '007.50', currency: 'eur', num_items: 2, tax: '1', contents: ['a'] }
  const { entry } = plan(samplePurchase({ value_data }))
  assert.equal(entry.valueAmount, '007.50')
  assert.equal(entry.valueCurrency, 'EUR')
  assert.equal(entry.orderId, null)
  assert.deepEqual(JSON.parse(entry.valueData ?? ''), {
    value: '007.50',
    currency: 'EUR',
    contents: ['a'],
    num_items: 2,
  })
})

it('dates consent by its signal, and an attestation by nothing', () => {
  const dated = plan(samplePurchase()).entry
  assert.equal(dated.consentCapturedAt?.toISOString(), '2026-11-21T11:00:00.000Z')
  const attested = plan(samplePurchase({ consent: { captured_at: '2026-11-21T11:00:00Z' } })).entry
  assert.equal(attested.consentCapturedAt, null)
  const undated = plan(samplePurchase({ consent: { ads: 'granted' } })).entry
  assert.equal(undated.consentCapturedAt, null)
})

function plan(body: Record<string, unknown>, grounds: Partial<PlanInput> = {}) {
  let lastId = 0
  return planEvent(draftOf(body as unknown as EventSubmission), {
    withdrawnAt: null,
    routes: [LIVE],
    windowEndsAt: () => LATER,
    nextDeliveryId: () => {
      lastId += 1
      return lastId
    },
    ...grounds,
  })
}

function draftOf(body: EventSubmission): EventDraft {
  const moment = { receivedAt: RECEIVED_AT, eventTime: RECEIVED_AT }
  const decision = decideConsent(body, { ...moment, identityPresent: true })
  const eventId = body.event_id ?? 'evt_1'
  return draftEvent(body, {
    platforms: PLATFORMS,
    trackerId: TRACKER_ID,
    eventId,
    decision,
    ...moment,
  })
}
