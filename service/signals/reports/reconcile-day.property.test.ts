import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { type DayReconciliation, type ReconciliationInput, reconcileDay } from './reconcile-day.ts'

const NAMES = ['Purchase', 'Lead', 'Search', '__proto__', '(other names)']
const count = fc.integer({ min: 0, max: 1_000 })

/** The parts never exceed the accepted events. */
const sentCounts = fc
  .record({
    ofThisDay: count,
    acceptedOfOtherDays: count,
    acceptedOnOtherDays: count,
    tests: count,
    unknownAttempts: count,
  })
  .map(({ ofThisDay, ...counts }) => ({
    ...counts,
    accepted: ofThisDay + counts.acceptedOfOtherDays,
  }))

function byName<Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<[string, Value][]> {
  return fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), values), { selector: ([name]) => name })
}

const platformCounts = byName(count).map(counts => ({
  kind: 'counts' as const,
  counts: Object.fromEntries(counts),
  isTruncated: false,
}))

const sides: fc.Arbitrary<ReconciliationInput> = fc.record({
  sent: byName(sentCounts).map(names =>
    names.map(([eventName, counts]) => ({ eventName, ...counts })),
  ),
  waiting: byName(fc.record({ waiting: count, inFlight: count })).map(names => ({
    names: names.map(([eventName, counts]) => ({ eventName, ...counts })),
    isTruncated: false,
  })),
  server: platformCounts,
  browser: fc.option(platformCounts),
  hasOtherSenders: fc.boolean(),
})

function explained({ buckets }: DayReconciliation): number {
  return Object.values(buckets).reduce((total, { count }) => total + count, 0)
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

it('splits the gap into the buckets and the unexplained residual', () => {
  fc.assert(
    fc.property(sides, input => {
      const report = reconcileDay(input)
      const gap = report.acceptedCount - report.platformCount
      assert.equal(gap, explained(report) + report.unexplainedResidual)
      assert.equal(report.acceptedCount, total(report.eventCounts.accepted))
      assert.equal(report.platformCount, total(report.eventCounts.meta))
      assert.equal(report.platformCount, total(input.server.counts))
    }),
  )
})

it('explains no more per bucket than its cause', () => {
  fc.assert(
    fc.property(sides, input => {
      const { buckets, unexplainedResidual } = reconcileDay(input)
      const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)
      const ours = input.sent
      assert.equal(0 - buckets.test_events.count, sum(ours.map(({ tests }) => tests)))
      assert.ok(0 - buckets.unknown_outcome.count <= sum(ours.map(name => name.unknownAttempts)))
      assert.ok(0 - buckets.pending.count <= sum(input.waiting.names.map(name => name.inFlight)))
      assert.ok(buckets.platform_deduplicated.count >= 0)
      assert.ok(buckets.other_senders.count <= 0)
      assert.ok(Object.values(buckets).every(({ count }) => !Object.is(count, -0)))
      assert.ok(!Object.is(unexplainedResidual, -0))
    }),
  )
})

it('leaves nothing unexplained when all causes were counted', () => {
  fc.assert(
    fc.property(byName(sentCounts), names => {
      const server = names.map(([name, counts]) => {
        const { accepted, acceptedOfOtherDays, acceptedOnOtherDays, tests } = counts
        return [name, accepted - acceptedOfOtherDays + acceptedOnOtherDays + tests] as const
      })
      const report = reconcileDay({
        sent: names.map(([eventName, counts]) => ({ eventName, ...counts })),
        waiting: { names: [], isTruncated: false },
        server: { kind: 'counts', counts: Object.fromEntries(server), isTruncated: false },
        browser: null,
        hasOtherSenders: false,
      })
      assert.equal(report.unexplainedResidual, 0)
      assert.match(report.status, /^(matched|explained)$/)
    }),
  )
})
