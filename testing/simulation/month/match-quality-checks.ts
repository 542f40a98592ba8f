import { isDeepStrictEqual } from 'node:util'
import {
  DAY_MILLISECONDS,
  formatUtcDay,
  HOUR_MILLISECONDS,
} from '../../../service/runtime/util/time.ts'
import { SCORED_EVENT_NAME } from '../../../service/signals/reports/match-quality.ts'
import type { Arrival, JobCall, MonthHistory, SimulatedShop, StoredAlert } from './history.ts'

/** Differences between the match quality and what actually arrived, one line each. */
export function findSnapshotErrors(history: MonthHistory): string[] {
  return history.shops.flatMap(shop => {
    const expectedQualities = computeExpectedQualities(history, shop)
    return [
      ...compareSnapshots(history, shop, expectedQualities),
      ...compareAlerts(history, shop, expectedQualities),
    ]
  })
}

function compareSnapshots(
  { snapshots }: MonthHistory,
  { datasetId }: SimulatedShop,
  expectedQualities: readonly ExpectedQuality[],
): string[] {
  // The interface shows the newest first.
  const shown = (snapshots.get(datasetId) ?? []).toReversed().map(readShownQuality)
  const dates = new Set([...shown, ...expectedQualities].map(({ date }) => date))
  return [...dates].flatMap(date => {
    const kept = shown.filter(snapshot => snapshot.date === date)
    const truth = expectedQualities.filter(snapshot => snapshot.date === date)
    if (isDeepStrictEqual(kept, truth)) return []
    return [`quality of ${date}: ${JSON.stringify(kept)}, truly ${JSON.stringify(truth)}`]
  })
}

// biome-ignore lint/suspicious/noExplicitAny: a snapshot as the interface shows it
function readShownQuality(snapshot: any): ExpectedQuality {
  const { measured_at, score, week_over_week_change, alerted, platform_response } = snapshot
  const { keys } = platform_response.signalbox.coverage[0]
  return {
    date: formatUtcDay(new Date(measured_at)),
    measuredAt: measured_at,
    score,
    change: week_over_week_change,
    alerted,
    coverage: Object.fromEntries(Object.entries<number>(keys).sort()),
  }
}

/** Raised when the score first falls by a point within a week, resolved when it no longer does. */
function compareAlerts(
  { alerts }: MonthHistory,
  { datasetId }: SimulatedShop,
  expectedQualities: readonly ExpectedQuality[],
): string[] {
  const expected: Pick<StoredAlert, 'kind' | 'raisedAt' | 'resolvedAt'>[] = []
  for (const { change, measuredAt } of expectedQualities) {
    const open = expected.find(({ resolvedAt }) => resolvedAt === null)
    const at = new Date(measuredAt)
    const hasFallen = change !== null && change <= -1
    if (hasFallen && !open) expected.push({ kind: 'emq_fell', raisedAt: at, resolvedAt: null })
    if (change !== null && !hasFallen && open) open.resolvedAt = at
  }
  const kept = alerts
    .filter(alert => alert.datasetId === datasetId && alert.kind.startsWith('emq_'))
    .map(({ kind, raisedAt, resolvedAt }) => ({ kind, raisedAt, resolvedAt }))
  if (isDeepStrictEqual(kept, expected)) return []
  return [`alerts of ${datasetId}: ${JSON.stringify(kept)}, truly ${JSON.stringify(expected)}`]
}

/** The keys that a day's snapshot advises to send more often with purchases. */
export function readAdvisedKeys({ snapshots, shops }: MonthHistory, date: string): string[] {
  const ofShop = snapshots.get(shops[0]?.datasetId ?? '') ?? []
  const snapshot = ofShop.find(({ measured_at }) => measured_at.startsWith(date))
  const advice: { event_name: string; key: string }[] = snapshot.platform_response.signalbox.advice
  return advice.filter(({ event_name }) => event_name === SCORED_EVENT_NAME).map(({ key }) => key)
}

/** The expected snapshot of one day. */
interface ExpectedQuality {
  date: string
  measuredAt: string
  score: number
  change: number | null
  alerted: boolean
  /** Match key -> per cent of the accepted live purchases of these seven UTC days. */
  coverage: Record<string, number>
}

/** Hundredths of a point that the simulator gives each key (graph-simulator/README.md). */
const HUNDREDTHS: Record<string, number> = {
  em: 250,
  ph: 150,
  fbc: 150,
  external_id: 100,
  fbp: 100,
  client_ip_address: 80,
  client_user_agent: 70,
  fn: 20,
  ln: 20,
  zp: 20,
}
const WINDOW_HOURS = 7 * 24
const DUE_HOUR = 5
const FALL_TENTHS = 10
const LOW_TENTHS = 40

interface Measured {
  at: Date
  tenths: number
}

/** A shop's expected snapshots, oldest first, computed from what the platform stored. */
function computeExpectedQualities(
  { arrivals, jobs }: MonthHistory,
  { datasetId }: SimulatedShop,
): ExpectedQuality[] {
  const ofShop = arrivals.filter(arrival => arrival.datasetId === datasetId)
  const measured: Measured[] = []
  const expectedQualities: ExpectedQuality[] = []
  for (const { at } of findMeasurementTimes(jobs, ofShop)) {
    const now = { at, tenths: computeScoreTenths(ofShop, at) }
    const before = findWeekBefore(measured, at)
    const change = before && now.tenths - before.tenths
    measured.push(now)
    expectedQualities.push({
      date: formatUtcDay(at),
      measuredAt: at.toISOString(),
      score: now.tenths / 10,
      change: change === null ? null : change / 10,
      alerted: (change !== null && change <= -FALL_TENTHS) || now.tenths < LOW_TENTHS,
      coverage: computeCoverage(ofShop, at),
    })
  }
  return expectedQualities
}

/** Each day's first job run from 05:00 UTC on at which the platform shows match quality. */
function findMeasurementTimes(jobs: readonly JobCall[], arrivals: readonly Arrival[]): JobCall[] {
  const possible = jobs.filter(
    ({ at, showsQuality }) =>
      showsQuality &&
      at.getUTCHours() >= DUE_HOUR &&
      arrivals.some(arrival => isAccepted(arrival) && arrival.at <= at),
  )
  const ofDays = Map.groupBy(possible, ({ at }) => formatUtcDay(at))
  return [...ofDays.values()].flatMap(([first]) => first ?? [])
}

/** In tenths of a point, with integer arithmetic; half a tenth rounds up. */
function computeScoreTenths(arrivals: readonly Arrival[], at: Date): number {
  const hourOf = (moment: Date) => Math.floor(moment.getTime() / HOUR_MILLISECONDS)
  const scored = arrivals.filter(
    arrival =>
      arrival.eventName === 'Purchase' &&
      arrival.actionSource === 'website' &&
      arrival.at <= at &&
      hourOf(arrival.at) > hourOf(at) - WINDOW_HOURS,
  )
  const hundredths = scored
    .flatMap(({ keys }) => keys)
    .reduce((sum, key) => sum + (HUNDREDTHS[key] ?? 0), 0)
  return Math.floor((2 * hundredths + 10 * scored.length) / (20 * scored.length))
}

/** Of the days 6 to 8 earlier, the one closest to 7; ties go to the closest time of day. */
function findWeekBefore(measured: readonly Measured[], at: Date): Measured | null {
  const daysOf = (moment: Date) => Math.floor(moment.getTime() / DAY_MILLISECONDS)
  const daysApart = (earlier: Measured) => Math.abs(daysOf(at) - daysOf(earlier.at) - 7)
  const apart = (earlier: Measured) =>
    Math.abs(at.getTime() - earlier.at.getTime() - 7 * DAY_MILLISECONDS)
  const near = measured.filter(earlier => daysApart(earlier) <= 1)
  return near.sort((a, b) => daysApart(a) - daysApart(b) || apart(a) - apart(b))[0] ?? null
}

function isAccepted({ isAnswered, isTest }: Arrival): boolean {
  return isAnswered && !isTest
}

/** Rounded down to a tenth, so that 100 means all of them. */
function computeCoverage(arrivals: readonly Arrival[], at: Date): Record<string, number> {
  const firstDay = formatUtcDay(new Date(at.getTime() - 6 * DAY_MILLISECONDS))
  const counted = arrivals.filter(
    arrival =>
      isAccepted(arrival) &&
      arrival.eventName === 'Purchase' &&
      arrival.at <= at &&
      formatUtcDay(arrival.at) >= firstDay,
  )
  const keys = new Set(counted.flatMap(arrival => arrival.keys))
  const share = (key: string) => {
    const carrying = counted.filter(arrival => arrival.keys.includes(key)).length
    return Math.floor((carrying * 1_000) / counted.length) / 10
  }
  return Object.fromEntries([...keys].sort().map(key => [key, share(key)]))
}
