import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { DELIVERY_STATUSES } from '@signalbox/contract/deliveries.ts'
import { GET_EVENT_EXAMPLES } from '@signalbox/contract/examples/get-event-examples.ts'
import { emptyPayload, sampleStoredEvent } from '../../../testing/fixtures/sample-events.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { SendError } from '../platforms/platform.ts'
import { explainDelivery } from './delivery-explanation.ts'
import type { StoredDelivery } from './delivery-store.ts'
import type { ExplanationContext } from './waiting-explanation.ts'

const AT = new Date('2026-11-21T12:00:00.000Z')

it('explains for each status what happened, why, and what happens next', () => {
  for (const [changes, explanation] of [
    [{ status: 'queued' }, 'Waiting to be sent with the next batch to this destination.'],
    [
      { status: 'queued', destinationProblem: 'the platform refuses the credential.' },
      'Waiting: the destination is paused (The platform refuses the credential.) It is sent as ' +
        'soon as the destination works again; no attempt is used up.',
    ],
    [{ status: 'sent' }, 'Being sent to the platform; its answer is not known yet.'],
    [
      { status: 'accepted', attemptCount: 1, attemptIds: ['1'], platformTraceId: 'Abc' },
      'The platform accepted the event with the first attempt (trace Abc). Nothing more happens.',
    ],
    [
      { status: 'accepted', attemptCount: 3, attemptIds: ['1', '2', '3'], isTest: true },
      'The platform accepted the event as a test event with 3 attempts. Nothing more happens.',
    ],
    [
      { status: 'retrying', ...TRIED_TWICE, nextAttemptAt: AT, lastError: failure() },
      'The last of 2 attempts failed. Code 2: Service unavailable. It is tried again at ' +
        '2026-11-21T12:00:00.000Z.',
    ],
    [
      { status: 'failed:unknown', ...TRIED_TWICE, lastError: failure({ code: null }) },
      'Given up after 2 attempts: the platform no longer accepts the event. ' +
        'Service unavailable.',
    ],
    [
      { status: 'skipped:no_destination' },
      /^Not sent: the tracker had no destination when the event was received\./,
    ],
    [{ status: 'skipped:duplicate' }, /^Not sent: the tracker secret sent the same event to this/],
    [{ status: 'expired' }, /^Not sent: the event of 2026-11-21T11:00:00\.000Z is older than/],
    [
      { status: 'failed:permanent', statusReason: 'payload_expired' },
      /identity payload .+ has expired/,
    ],
  ] as [Partial<StoredDelivery>, string | RegExp][]) {
    const said = explain(changes)
    if (typeof explanation === 'string') assert.equal(said, explanation)
    else assert.match(said, explanation)
  }
})

it('uses full sentences for every status, with and without a platform message', () => {
  for (const status of DELIVERY_STATUSES) {
    for (const lastError of [null, failure(), failure({ message: ' ', user_message: '' })]) {
      const said = explain({ status, lastError, attemptCount: 1 })
      assert.match(said, /^[A-Z].*[.)]$/, status)
      assert.doesNotMatch(said, /undefined|null|NaN| {2}|\.\./, status)
    }
  }
})

it('is repeated word for word in the README and in the example of getEvent', () => {
  const accepted: Partial<StoredDelivery> = {
    status: 'accepted',
    attemptCount: 1,
    attemptIds: ['1'],
  }
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
  for (const text of [readme, JSON.stringify(GET_EVENT_EXAMPLES)]) {
    const said = [...text.matchAll(/"explanation": ?"(The platform accepted [^"]*)"/g)]
    assert.ok(said.length > 0)
    for (const [, sentence = ''] of said) {
      const platformTraceId = /\(trace ([\w-]+)\)/.exec(sentence)?.[1] ?? null
      assert.equal(sentence, explain({ ...accepted, platformTraceId }))
    }
  }
})

it('prefers the user message of the platform, with code and subcode', () => {
  const lastError = failure({ code: 100, subcode: 2804003, user_message: 'der Zeitpunkt ist alt' })
  assert.equal(
    explain({ status: 'failed:permanent', lastError }),
    'The platform rejected the event permanently. Code 100/2804003: Der Zeitpunkt ist alt. ' +
      'Correct the data and send it under a new event_id.',
  )
})

it('distinguishes a withdrawal from unreadable consent', () => {
  const withdrawn = { status: 'skipped:consent', statusReason: 'consent_withdrawn' } as const
  assert.equal(
    explain(withdrawn, { consentCapturedAt: AT }),
    'Not sent: the visitor withdrew consent, and the consent of 2026-11-21T12:00:00.000Z does ' +
      'not overrule that: it would have to be captured more than 5 minutes after the withdrawal, ' +
      'and no later than the receipt of the event. It stays in the ledger.',
  )
  assert.match(explain(withdrawn), /withdrew consent, and no later consent is known\./)
  const unread = { status: 'skipped:consent', statusReason: 'no_signal' } as const
  assert.match(explain(unread), /^Not sent: consent signals came with the event, .+\(no_signal\)/)
})

it('adds a sentence each for dropped, ignored and repeated data', () => {
  const notes = {
    dropped: [
      { field: 'user_data.ph', reason: 'This is not a whole phone number.' },
      { field: 'click_ids.x', reason: 'This field is not known here.' },
    ],
    unknown_members: ['utm_source', 'campaign'],
  }
  const repeated = { notes, differingSubmissions: 2, lastDifferingAt: AT }
  assert.equal(
    explain({ status: 'sent' }, repeated),
    'Being sent to the platform; its answer is not known yet. Dropped on receipt: ' +
      'user_data.ph (This is not a whole phone number), click_ids.x (This field is not known ' +
      'here). Ignored unknown members: utm_source, campaign. The same ID was received again 2 times with ' +
      'a different body, last at 2026-11-21T12:00:00.000Z; the first body was kept.',
  )
})

function explain(
  delivery: Partial<StoredDelivery>,
  event: Partial<StoredEvent> = {},
  context: Partial<ExplanationContext> = {},
): string {
  const leaseSecondsLeft = delivery.status === 'sent' ? 30 : null
  return explainDelivery(
    { ...DELIVERY, leaseSecondsLeft, ...delivery },
    { ...EVENT, ...event },
    { at: new Date('2026-11-21T11:59:00.000Z'), attempts: [], windowEndsAt: null, ...context },
  )
}

const TRIED_TWICE = { attemptCount: 2, attemptIds: ['1', '2'] }

function failure(changes: Partial<SendError> = {}): SendError {
  return {
    class: 'retry',
    code: 2,
    subcode: null,
    message: 'service unavailable.',
    user_title: null,
    user_message: null,
    http_status: 500,
    ...changes,
  }
}

const DELIVERY: StoredDelivery = {
  id: 1,
  eventId: 'order-1',
  space: 0,
  destinationId: 'destination-1',
  status: 'queued',
  statusReason: 'accepted_for_delivery',
  isTest: false,
  attemptCount: 0,
  lastError: null,
  platformResponse: null,
  platformTraceId: null,
  nextAttemptAt: null,
  firstSentAt: null,
  replayedAt: null,
  attemptIds: [],
  hasIdPrefix: false,
  toldValue: null,
  createdAt: new Date('2026-11-21T11:00:00.000Z'),
  updatedAt: null,
  leaseSecondsLeft: null,
  destinationProblem: null,
  nextProbeAt: null,
  backoff: null,
  hasTestCode: true,
  destinationConfig: null,
  platform: 'meta',
}

const EVENT = sampleStoredEvent(AT, {
  eventId: 'order-1',
  eventTime: new Date('2026-11-21T11:00:00.000Z'),
  payload: emptyPayload(),
})
