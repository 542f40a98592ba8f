import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import type { EventQuality } from '../platforms/platform.ts'
import { DEFAULT_THRESHOLDS } from './alert-threshold-store.ts'
import {
  assessMatchQuality,
  type EarlierScore,
  formatMillionths,
  type MatchQualityInput,
  toMillionths,
} from './match-quality.ts'

const NOW = new Date('2026-11-21T05:00:00.000Z')

function quality(eventName: string, score: number, eventCount: number | null = null): EventQuality {
  return { eventName, score, eventCount, keys: [] }
}

function sent(eventName: string, events: number) {
  return { eventName, events, keys: {} }
}

/** A snapshot `days` days earlier, by default at the same time of day. */
function earlier(daysEarlier: number, score: string, hoursLater = 0): EarlierScore {
  const milliseconds =
    NOW.getTime() - daysEarlier * DAY_MILLISECONDS + hoursLater * HOUR_MILLISECONDS
  return { daysEarlier, score, measuredAt: new Date(milliseconds) }
}

function assess(changes: Partial<MatchQualityInput>) {
  const none = { events: [], ours: [], earlier: [] }
  return assessMatchQuality({ ...none, at: NOW, thresholds: DEFAULT_THRESHOLDS, ...changes })
}

it('is the score of Purchase when there is one', () => {
  const events = [quality('PageView', 3.1, 1_000_000), quality('Purchase', 6.25, 10)]
  assert.equal(assess({ events })?.score, '6.25')
})

it('is otherwise the mean weighted by the counts of the platform, to a tenth', () => {
  const events = [quality('PageView', 3, 900), quality('Lead', 8, 100)]
  assert.equal(assess({ events, ours: [sent('Lead', 5)] })?.score, '3.5')
})

it('uses our counts as weights when the platform omits one', () => {
  const events = [quality('PageView', 3, 900), quality('Lead', 8), quality('Strange', 1)]
  const ours = [sent('PageView', 1), sent('Lead', 3), sent('Other', 50)]
  assert.equal(assess({ events, ours })?.score, '6.8')
})

it('uses equal weights without counts', () => {
  const events = [quality('PageView', 3), quality('Lead', 8)]
  assert.equal(assess({ events })?.score, '5.5')
  assert.equal(assess({ events: events.map(event => ({ ...event, eventCount: 0 })) })?.score, '5.5')
})

it('is null while the platform has no score', () => {
  assert.equal(assess({ events: [] }), null)
})

it('is within the range of the scores and has one fraction digit', () => {
  const event = fc.record({
    eventName: fc.string().map(name => `${name}!`),
    score: fc.integer({ min: 0, max: 100 }).map(tenths => tenths / 10),
    eventCount: fc.option(fc.integer({ min: 0, max: 2_000_000_000 })),
    keys: fc.constant<EventQuality['keys']>([]),
  })
  const ours = fc.array(fc.integer({ min: 0, max: 2_000_000_000 }), { maxLength: 5 })
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 30 }), ours, (events, counts) => {
      const own = counts.map((count, index) => sent(events[index]?.eventName ?? '', count))
      const score = assess({ events, ours: own })?.score ?? ''
      assert.match(score, /^\d{1,2}\.\d$/)
      const scores = events.map(({ score }) => score)
      assert.ok(Number(score) >= Math.min(...scores))
      assert.ok(Number(score) <= Math.max(...scores))
    }),
  )
})

it('compares with the snapshot closest to seven days earlier, within a day', () => {
  const events = [quality('Purchase', 6.2)]
  const change = (...snapshots: EarlierScore[]) =>
    assess({ events, earlier: snapshots })?.weekOverWeekChange
  assert.equal(change(), null)
  assert.equal(change(earlier(5, '1.0'), earlier(9, '1.0')), null)
  assert.equal(change(earlier(6, '6.0'), earlier(7, '5.9'), earlier(8, '5.8')), '0.3')
  assert.equal(change(earlier(6, '6.2')), '0.0')
  assert.equal(change(earlier(8, '6.9')), '-0.7')
  // Equally close: the order in the store must not matter.
  assert.equal(change(earlier(6, '6.0'), earlier(8, '8.0')), '-1.8')
  assert.equal(change(earlier(8, '8.0'), earlier(6, '6.0')), '-1.8')
  assert.equal(change(earlier(6, '6.0', 1), earlier(8, '5.0', 2)), '1.2')
  assert.equal(change(earlier(6, '6.0', -2), earlier(8, '5.0', -1)), '0.2')
})

it('has fallen at exactly 1.0 and not at a millionth less', () => {
  const fallen = (score: number, before: string) =>
    assess({ events: [quality('Purchase', score)], earlier: [earlier(7, before)] })?.hasFallen
  assert.equal(fallen(6.2, '7.2'), true)
  assert.equal(fallen(6.3, '7.2'), false)
  assert.equal(fallen(6.000001, '7'), false)
  assert.equal(fallen(9, '7.2'), false)
  assert.equal(assess({ events: [quality('Purchase', 1)] })?.hasFallen, null)
})

it('is low below 4.0', () => {
  assert.equal(assess({ events: [quality('Purchase', 4)] })?.isLow, false)
  assert.equal(assess({ events: [quality('Purchase', 3.9)] })?.isLow, true)
})

it('formats a score with at least one fraction digit', () => {
  for (const [score, text] of [
    [6.2, '6.2'],
    [6.25, '6.25'],
    [0, '0.0'],
    [-0, '0.0'],
    [10, '10.0'],
    [0.1 + 0.2, '0.3'],
    ['7.10', '7.1'],
  ] as const) {
    assert.equal(formatMillionths(toMillionths(score)), text)
  }
})

it('subtracts without binary rounding errors', () => {
  assert.equal(formatMillionths(toMillionths(7.3) - toMillionths(7)), '0.3')
  assert.equal(formatMillionths(toMillionths(5.9) - toMillionths('7.2')), '-1.3')
  assert.equal(formatMillionths(toMillionths(1.1) - toMillionths(1.05)), '0.05')
})

it('round-trips scores through text', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -10_000_000n, max: 10_000_000n }), millionths => {
      assert.equal(toMillionths(formatMillionths(millionths)), millionths)
    }),
  )
})
