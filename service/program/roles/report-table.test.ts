import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import type { TargetConfig } from '../../signals/platforms/platform.ts'
import {
  describeUnavailableDay,
  type ReconciliationInput,
  reconcileDay,
} from '../../signals/reports/reconcile-day.ts'
import type { StoredReport } from '../../signals/reports/reconciliation-store.ts'
import { formatReportTable } from './report-command.ts'

const AT = new Date('2026-11-22T06:00:12.345Z')

const DESTINATION = {
  trackerId: '0190aaaa-0000-7000-8000-000000000001',
  id: '0190bbbb-0000-7000-8000-000000000001',
  platform: 'meta',
  config: { dataset_id: '1234567890123456' } as TargetConfig,
} as Destination

const SENT = {
  accepted: 1_240,
  acceptedOfOtherDays: 0,
  acceptedOnOtherDays: 0,
  tests: 2,
  unknownAttempts: 0,
}
const QUIET = { names: [], isTruncated: false }
const SIDES = {
  sent: [{ eventName: 'Purchase', ...SENT }],
  waiting: QUIET,
  browser: null,
  hasOtherSenders: false,
}
const COUNTED = { kind: 'counts' as const, counts: { Purchase: 1_242 }, isTruncated: false }
const RESULTS = 'request_results' as const
const DETAILS = {
  unavailable: null,
  countSource: {
    source: 'day_report' as const,
    platform: 'Scripted',
    label: 'Received events',
    meaning: 'What it received.',
  },
  sentNames: [{ eventName: 'Order', platformName: 'Purchase' }],
  outcomes: [{ status: 'skipped:consent', reason: 'consent_refused_for_platform', count: 3 }],
  requests: null,
  values: {
    accepted: [{ eventName: 'Purchase', currency: 'EUR', events: 2, amount: '0.30' }],
    reported: null,
    noValues: 'It reports no values.',
  },
}

function table(
  reconciliation: ReturnType<typeof reconcileDay> | ReturnType<typeof describeUnavailableDay>,
  details: StoredReport['details'] = null,
): string {
  const times = { createdAt: AT, updatedAt: AT, triedAt: AT, trouble: null, details }
  const stored = { id: 1, destinationId: DESTINATION.id, reportDate: '2026-11-21', ...times }
  return formatReportTable({ ...stored, ...reconciliation }, DESTINATION)
}

function compared(changes: Partial<ReconciliationInput> = {}): string {
  return table(
    reconcileDay({
      sent: [{ eventName: 'Purchase', ...SENT }],
      waiting: QUIET,
      server: { kind: 'counts', counts: { Purchase: 1_241, Search: 7 }, isTruncated: false },
      browser: null,
      hasOtherSenders: false,
      ...changes,
    }),
  )
}

it('shows both counts, the explanations of the gap and the rest', () => {
  assert.equal(
    compared(),
    `Reconciliation of 2026-11-21 (UTC)
  Tracker      0190aaaa-0000-7000-8000-000000000001
  Destination  0190bbbb-0000-7000-8000-000000000001
  Target       1234567890123456
  Made         2026-11-22 06:00 UTC
  Status       unexplained: a difference remains without an explanation; see
               "Not explained".

  EVENT                                     ACCEPTED      PLATFORM           GAP
  Purchase                                     1,240         1,241            -1
  Search                                           0             7            -7
  Total                                        1,240         1,248            -8

  EXPLAINED BY                                 COUNT         BASIS
  test_events                                     -2      measured
    The platform accepted 2 test events of this day and counts them like other
    events; our count excludes them.
  pending                                          0      measured
    No events of this day are waiting to be sent.
  late_event_time                                  0      measured
    Every event was sent on the day it happened.
  unknown_outcome                                  0     estimated
    Every attempt got an answer.
  platform_deduplicated                            0     estimated
    1 event is missing at the platform, and nothing explains it: look for
    discarded events in its diagnostics.
  other_senders                                   -7      measured
    The platform has 7 events under names that we did not send (Search): another
    integration sends to this dataset.
  Not explained                                   +1
`,
  )
})

it('shows no platform counts when the platform returned none', () => {
  const own = { sent: [{ eventName: 'Purchase', ...SENT }], waiting: QUIET }
  const sentence = 'The platform refuses the access token.'
  const unavailable = { cause: 'credential' as const, sentence }
  const text = table(describeUnavailableDay(own), { ...DETAILS, unavailable })
  assert.match(text, /Purchase +1,240 +- +-\n/)
  assert.match(text, /\n\n {2}The day was not compared. The platform refuses the access token.\n/)
  assert.doesNotMatch(text, /EXPLAINED BY/)
})

it('shows what was not accepted, values and the words of the platform', () => {
  const text = table(reconcileDay({ ...SIDES, server: COUNTED }), DETAILS)
  assert.match(text, /Platform {5}Scripted: Received events\. What it received\.\n/)
  assert.match(text, /NOT ACCEPTED +DELIVERIES\n {2}skipped:consent +3\n {4}The person refused/)
  assert.match(
    text,
    /VALUE ACCEPTED +AMOUNT\n {2}Purchase, EUR +0\.30\n {2}It reports no values\.\n/,
  )
  assert.match(text, /Order is sent and counted as Purchase\./)
})

it('shows no count of a name that the platform does not tell', () => {
  const details = { ...DETAILS, countSource: { ...DETAILS.countSource, source: RESULTS } }
  const text = table(reconcileDay({ ...SIDES, server: COUNTED }), details)
  assert.match(text, /Purchase +1,240 +- +-\n/)
  assert.match(text, /Total +1,240 +1,242 +-2\n/)
})

it('stays within 80 columns of plain text for any name', () => {
  const long = 'n'.repeat(100)
  const counts = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`\u001b[2J${index}\n${long}`, 20_000_000]),
  )
  const text = compared({ server: { kind: 'counts', counts, isTruncated: true } })
  const lines = text.split('\n')
  const wide = lines.filter(line => line.length > 80)
  assert.deepEqual(wide, [])
  assert.doesNotMatch(text, /\p{Cc}(?<!\n)/u)
  assert.match(text, /\n {2}\(21 more names\)\n/)
})
