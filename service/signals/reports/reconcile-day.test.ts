import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SentOfDay } from '../delivery/sent-counts-store.ts'
import type { DayCounts } from '../platforms/platform.ts'
import {
  describeUnavailableDay,
  hasMissingEvents,
  type ReconciliationInput,
  reconcileDay,
} from './reconcile-day.ts'

function sent(eventName: string, counts: Partial<SentOfDay> = {}): SentOfDay {
  return {
    eventName,
    accepted: 0,
    acceptedOfOtherDays: 0,
    acceptedOnOtherDays: 0,
    tests: 0,
    unknownAttempts: 0,
    ...counts,
  }
}

function counted(counts: Record<string, number>, isTruncated = false): DayCounts {
  return { kind: 'counts', counts, isTruncated: isTruncated }
}

const QUIET = { names: [], isTruncated: false }

/** Ten purchases on both sides, with overrides. */
function day(changes: Partial<ReconciliationInput> = {}) {
  return reconcileDay({
    sent: [sent('Purchase', { accepted: 10 })],
    waiting: QUIET,
    server: counted({ Purchase: 10 }),
    browser: null,
    hasOtherSenders: false,
    ...changes,
  })
}

function summary(report: ReturnType<typeof reconcileDay>) {
  const { acceptedCount, platformCount: metaCount, buckets, unexplainedResidual, status } = report
  const named = Object.entries(buckets).filter(([, { count }]) => count !== 0)
  return {
    gap: acceptedCount - metaCount,
    buckets: Object.fromEntries(named.map(([name, { count, basis }]) => [name, [count, basis]])),
    residual: unexplainedResidual,
    status,
  }
}

it('matches equal counts and still has every bucket', () => {
  const report = day()
  assert.deepEqual(summary(report), { gap: 0, buckets: {}, residual: 0, status: 'matched' })
  assert.deepEqual(Object.keys(report.buckets).sort(), [
    'late_event_time',
    'other_senders',
    'pending',
    'platform_deduplicated',
    'test_events',
    'unknown_outcome',
  ])
  for (const { explanation } of Object.values(report.buckets)) assert.match(explanation, /\.$/)
  assert.deepEqual(report.eventCounts, { accepted: { Purchase: 10 }, meta: { Purchase: 10 } })
})

it('explains test events as measured', () => {
  const report = day({
    sent: [sent('Purchase', { accepted: 10, tests: 3 })],
    server: counted({ Purchase: 13 }),
  })
  const buckets = { test_events: [-3, 'measured'] }
  assert.deepEqual(summary(report), { gap: -3, buckets, residual: 0, status: 'explained' })
  assert.match(report.buckets.test_events.explanation, /accepted 3 test events of this day/)
})

it('counts an event on the day it happened', () => {
  const counts = { accepted: 10, acceptedOfOtherDays: 4, acceptedOnOtherDays: 1 }
  const report = day({ sent: [sent('Purchase', counts)], server: counted({ Purchase: 7 }) })
  const buckets = { late_event_time: [3, 'measured'] }
  assert.deepEqual(summary(report), { gap: 3, buckets, residual: 0, status: 'explained' })
  assert.match(report.buckets.late_event_time.explanation, /4 events .* 1 event of this day/)
})

it('explains up to as many events as there are attempts without an answer', () => {
  const own = { sent: [sent('Purchase', { accepted: 10, unknownAttempts: 2 })] }
  const within = day({ ...own, server: counted({ Purchase: 11 }) })
  const buckets = { unknown_outcome: [-1, 'estimated'] }
  assert.deepEqual(summary(within), { gap: -1, buckets, residual: 0, status: 'explained' })
  const beyond = day({ ...own, server: counted({ Purchase: 15 }) })
  assert.deepEqual(summary(beyond), {
    gap: -5,
    buckets: { unknown_outcome: [-2, 'estimated'] },
    residual: -3,
    status: 'unexplained',
  })
  assert.match(beyond.buckets.other_senders.explanation, /3 events too many/)
})

it('is pending while events of the day wait and counts those in flight', () => {
  const waiting = {
    names: [
      { eventName: 'Purchase', waiting: 5, inFlight: 2 },
      { eventName: 'Lead', waiting: 1, inFlight: 0 },
    ],
    isTruncated: false,
  }
  const report = day({ waiting, server: counted({ Purchase: 12 }) })
  const buckets = { pending: [-2, 'estimated'] }
  assert.deepEqual(summary(report), { gap: -2, buckets, residual: 0, status: 'pending' })
  assert.match(report.buckets.pending.explanation, /^6 events of this day are waiting/)
  const equal = day({ waiting })
  assert.equal(equal.status, 'pending')
  assert.deepEqual([equal.buckets.pending.count, equal.buckets.pending.basis], [0, 'measured'])
})

it('does not count an attempt in flight without an answer twice', () => {
  const report = day({
    sent: [sent('Purchase', { accepted: 10, unknownAttempts: 1 })],
    waiting: { names: [{ eventName: 'Purchase', waiting: 1, inFlight: 1 }], isTruncated: false },
    server: counted({ Purchase: 11 }),
  })
  assert.deepEqual(summary(report).buckets, { pending: [-1, 'estimated'] })
})

it('explains missing events with browser events, up to their number', () => {
  const server = counted({ Purchase: 6 })
  const within = day({ server, browser: counted({ Purchase: 9 }) })
  const buckets = { platform_deduplicated: [4, 'estimated'] }
  assert.deepEqual(summary(within), { gap: 4, buckets, residual: 0, status: 'explained' })
  const beyond = day({ server, browser: counted({ Purchase: 1, Lead: 9 }) })
  assert.deepEqual(summary(beyond), {
    gap: 4,
    buckets: { platform_deduplicated: [1, 'estimated'] },
    residual: 3,
    status: 'unexplained',
  })
  assert.match(beyond.buckets.platform_deduplicated.explanation, /3 events more are missing/)
})

it('mentions unreadable browser counts and unlisted names', () => {
  const sentence = 'The platform asks to be left alone.'
  const browser = { kind: 'unavailable', cause: 'throttled', sentence, waitSeconds: 60 } as const
  const report = day({ server: counted({ Purchase: 6 }, true), browser })
  assert.deepEqual(summary(report), { gap: 4, buckets: {}, residual: 4, status: 'unexplained' })
  const { explanation } = report.buckets.platform_deduplicated
  assert.match(explanation, /hundred names per hour/)
  assert.ok(explanation.endsWith(sentence))
})

it('attributes unknown names to other senders as measured', () => {
  const report = day({ server: counted({ Purchase: 10, Lead: 4, Search: 2 }) })
  const buckets = { other_senders: [-6, 'measured'] }
  assert.deepEqual(summary(report), { gap: -6, buckets, residual: 0, status: 'explained' })
  assert.match(report.buckets.other_senders.explanation, /6 events .*\(Lead, Search\)/)
})

it('attributes a surplus of our names to other senders only when they are known', () => {
  const server = counted({ Purchase: 13 })
  assert.deepEqual(summary(day({ server })), {
    gap: -3,
    buckets: {},
    residual: -3,
    status: 'unexplained',
  })
  const others = { gap: -3, residual: 0, status: 'explained' }
  const buckets = { other_senders: [-3, 'estimated'] }
  assert.deepEqual(summary(day({ server, hasOtherSenders: true })), { ...others, buckets })
  const today = day({ server: counted({ Purchase: 13, Lead: 1 }) })
  assert.deepEqual(summary(today).buckets, { other_senders: [-4, 'estimated'] })
  assert.match(today.buckets.other_senders.explanation, /1 event under .* 3 events under names/)
})

it('does not attribute a name with only test events to other senders', () => {
  const report = day({
    sent: [sent('Purchase', { accepted: 10 }), sent('Lead', { tests: 2 })],
    server: counted({ Purchase: 10, Lead: 3 }),
  })
  assert.deepEqual(summary(report), {
    gap: -3,
    buckets: { test_events: [-2, 'measured'] },
    residual: -1,
    status: 'unexplained',
  })
  assert.deepEqual(report.eventCounts.accepted, { Purchase: 10, Lead: 0 })
})

it('explains several causes together, each with its part', () => {
  const report = day({
    sent: [
      sent('Purchase', { accepted: 100, acceptedOfOtherDays: 8, tests: 5, unknownAttempts: 2 }),
      sent('Lead', { accepted: 50, acceptedOnOtherDays: 4 }),
    ],
    waiting: { names: [{ eventName: 'Purchase', waiting: 3, inFlight: 1 }], isTruncated: false },
    server: counted({ Purchase: 100, Lead: 40, Search: 7 }),
    browser: counted({ Lead: 30 }),
  })
  assert.deepEqual(summary(report), {
    gap: 3,
    buckets: {
      test_events: [-5, 'measured'],
      pending: [-1, 'estimated'],
      late_event_time: [4, 'measured'],
      unknown_outcome: [-2, 'estimated'],
      platform_deduplicated: [14, 'estimated'],
      other_senders: [-7, 'measured'],
    },
    residual: 0,
    status: 'pending',
  })
})

it('does not offset missing events of one name with extra events of another', () => {
  const report = day({
    sent: [sent('Purchase', { accepted: 10 }), sent('Lead', { accepted: 10 })],
    server: counted({ Purchase: 12, Lead: 8 }),
  })
  assert.deepEqual(summary(report), { gap: 0, buckets: {}, residual: 0, status: 'unexplained' })
})

it('compares names that we stopped counting together with unknown names', () => {
  const report = day({
    sent: [sent('Purchase', { accepted: 10 }), sent('(other names)', { accepted: 5 })],
    server: counted({ Purchase: 10, 'custom-1': 3, 'custom-2': 2 }),
  })
  assert.deepEqual(summary(report), { gap: 0, buckets: {}, residual: 0, status: 'matched' })
  assert.deepEqual(report.eventCounts.meta, { Purchase: 10, '(other names)': 5 })
})

it('lists the two hundred largest names of other senders and the rest as one', () => {
  const names = Array.from({ length: 250 }, (_, index) => [`name-${index}`, index + 1] as const)
  const report = day({ server: counted({ Purchase: 10, ...Object.fromEntries(names) }) })
  const { meta } = report.eventCounts
  assert.equal(Object.keys(meta).length, 202)
  assert.equal(meta['(other names)'], (50 * 51) / 2)
  assert.deepEqual(summary(report).buckets, { other_senders: [-(250 * 251) / 2, 'measured'] })
})

it('accepts any event name', () => {
  const counts = JSON.parse('{"__proto__": 2, "constructor": 1, "Purchase": 10}')
  const report = day({
    sent: [sent('Purchase', { accepted: 10 }), sent('__proto__', { accepted: 2 })],
    server: counted(counts),
  })
  const text = JSON.stringify(report.eventCounts)
  assert.match(text, /"accepted":\{"Purchase":10,"__proto__":2\}/)
  assert.match(text, /"meta":\{"Purchase":10,"__proto__":2,"constructor":1\}/)
  assert.deepEqual(summary(report).buckets, { other_senders: [-1, 'measured'] })
})

it('removes control characters from names in sentences', () => {
  const report = day({ server: counted({ Purchase: 10, 'a\u001b[31m\nb': 1 }) })
  assert.match(report.buckets.other_senders.explanation, /\(a \[31m b\)/)
})

it('reads browser counts only when events are missing', () => {
  const sides = { sent: [sent('Purchase', { accepted: 2 })], waiting: QUIET, hasOtherSenders: true }
  assert.equal(hasMissingEvents({ ...sides, server: counted({ Purchase: 1 }) }), true)
  assert.equal(hasMissingEvents({ ...sides, server: counted({ Purchase: 2 }) }), false)
  assert.equal(hasMissingEvents({ ...sides, server: counted({ Purchase: 3 }) }), false)
})

it('never treats missing counts as zero', () => {
  const own = { sent: [sent('Purchase', { accepted: 10, tests: 2 })], waiting: QUIET }
  const report = describeUnavailableDay(own)
  const { acceptedCount, platformCount, unexplainedResidual, status } = report
  assert.deepEqual(
    [acceptedCount, platformCount, unexplainedResidual, status],
    [10, null, null, 'unavailable'],
  )
  assert.deepEqual(report.eventCounts, { accepted: { Purchase: 10 }, meta: {} })
  assert.deepEqual(report.buckets, {})
})
