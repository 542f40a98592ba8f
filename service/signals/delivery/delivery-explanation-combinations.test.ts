import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Stored } from '@signalbox/contract/closed-set.ts'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { DELIVERY_REASONS, type DeliveryReason } from '@signalbox/contract/reasons.ts'
import { emptyPayload, sampleStoredEvent } from '../../../testing/fixtures/sample-events.ts'
import type { StoredEvent } from '../events/event-store.ts'
import type { SendError } from '../platforms/platform.ts'
import { explainDelivery } from './delivery-explanation.ts'
import type { StoredDelivery } from './delivery-store.ts'

const NOON = new Date('2026-11-21T12:00:00.000Z')
const THREE_DAYS_LATER = new Date('2026-11-24T12:00:00.000Z')

/** Every reason that is stored with a status, and one of another version. */
function reasonsOf(status: DeliveryStatus): Stored<DeliveryReason>[] {
  return [...DELIVERY_REASONS[status], { unrecognized: 'reason_of_another_version' }]
}

const firstReasonOf = (status: DeliveryStatus) => reasonsOf(status)[0] as Stored<DeliveryReason>

/** No delivery has these statuses without a counted attempt. */
const TRIED: DeliveryStatus[] = ['accepted', 'retrying', 'failed:unknown']

const ERRORS: (SendError | null)[] = [
  null,
  sendError(),
  sendError({ user_message: 'Der Zeitstempel ist zu alt!' }),
  sendError({ subcode: null, user_message: '', message: '' }),
  sendError({ class: 'local', code: null, subcode: null, message: 'A Purchase needs a value.' }),
]

const EVENTS = [
  event(),
  event({
    consentCapturedAt: NOON,
    notes: {
      dropped: [{ field: 'user_data.ph', reason: 'Not a phone number.' }],
      unknown_members: ['color', 'shape'],
    },
    differingSubmissions: 2,
    lastDifferingAt: NOON,
  }),
  event({ notes: { dropped: [], unknown_members: [] }, differingSubmissions: 1 }),
]

it('explains every combination of status, reason, error and event in full sentences', () => {
  let count = 0
  for (const one of everyDelivery()) {
    for (const about of EVENTS) {
      const text = explainDelivery(one, about, CONTEXT)
      const where = `${one.status} ${one.statusReason}: ${text}`
      assert.doesNotMatch(text, /undefined|null|NaN|Invalid Date|\[object|[{}]|\b0 attempt/, where)
      assert.match(text, /^[A-Z].*[.!]$/, where)
      assert.doesNotMatch(text, /\s\s|\.\.|[.!]:|:\.| \.|\(\)/, where)
      count += 1
    }
  }
  assert.ok(count > 2_000)
})

it('distinguishes all statuses and the reasons of a permanent failure', () => {
  const texts = DELIVERY_STATUSES.map(status => explain(status, firstReasonOf(status)))
  assert.equal(new Set(texts).size, DELIVERY_STATUSES.length)
  const failures = DELIVERY_REASONS['failed:permanent'].map(statusReason =>
    explain('failed:permanent', statusReason),
  )
  assert.equal(new Set(failures).size, failures.length)
})

/** Of an event that the platform accepts for six days more. */
const CONTEXT = {
  at: new Date('2026-11-21T13:00:00.000Z'),
  attempts: [],
  windowEndsAt: new Date('2026-11-27T12:00:00.000Z'),
}

function explain(status: DeliveryStatus, statusReason: StoredDelivery['statusReason']): string {
  return explainDelivery(delivery({ status, statusReason }), event(), CONTEXT)
}

it('explains a status and a reason of another version', () => {
  const foreign = { unrecognized: 'of_another_version' }
  const text = (changes: Partial<StoredDelivery>) =>
    explainDelivery(delivery(changes), event(), CONTEXT)
  assert.equal(text({ status: foreign }), 'Another version stored the status of_another_version.')
  assert.match(
    text({ status: 'skipped:consent', statusReason: foreign }),
    /none of them could be read as granted \(of_another_version\)/,
  )
  const failed = { status: 'failed:permanent', attemptCount: 1 } as const
  assert.equal(
    text({ ...failed, statusReason: foreign }),
    text({ ...failed, statusReason: 'refused_by_platform' }),
  )
  // The reason of another status is as foreign as one that no version has.
  assert.equal(
    text({ ...failed, statusReason: 'outside_window' }),
    text({ ...failed, statusReason: foreign }),
  )
})

function* everyDelivery(): Generator<StoredDelivery> {
  for (const status of DELIVERY_STATUSES)
    for (const statusReason of reasonsOf(status))
      for (const lastError of ERRORS)
        for (const attemptCount of TRIED.includes(status) ? [1, 7] : [0, 1, 7])
          for (const platformTraceId of [null, 'Atrace1'])
            for (const nextAttemptAt of [null, NOON])
              for (const replayedAt of [null, THREE_DAYS_LATER])
                for (const destinationProblem of [null, 'The platform refuses the credential'])
                  for (const isTest of [false, true])
                    yield delivery({
                      status,
                      statusReason,
                      lastError,
                      attemptCount,
                      platformTraceId,
                      nextAttemptAt,
                      destinationProblem,
                      isTest,
                      replayedAt,
                      firstSentAt: NOON,
                    })
}

function delivery(changes: Partial<StoredDelivery>): StoredDelivery {
  return {
    id: 1,
    eventId: 'event-1',
    space: 0,
    destinationId: '0190bbbb-0000-7000-8000-000000000001',
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
    createdAt: NOON,
    updatedAt: null,
    leaseSecondsLeft: changes.status === 'sent' ? 30 : null,
    destinationProblem: null,
    nextProbeAt: null,
    backoff: null,
    hasTestCode: true,
    destinationConfig: null,
    platform: 'meta',
    ...changes,
  }
}

function sendError(changes: Partial<SendError> = {}): SendError {
  return {
    class: 'permanent',
    code: 100,
    subcode: 2_804_003,
    message: 'invalid parameter.',
    user_title: null,
    user_message: null,
    http_status: 400,
    ...changes,
  }
}

function event(changes: Partial<StoredEvent> = {}): StoredEvent {
  return sampleStoredEvent(NOON, { payload: emptyPayload(), ...changes })
}
