import type { Arrival, JobMoment, MonthStory, ToldShop } from './month-story.ts'
import { dayOf } from './month-story.ts'

/** What the snapshot of one day should say. */
export interface TrueQuality {
  date: string
  measuredAt: string
  score: number
  change: number | null
  alerted: boolean
  /** Match key -> per cent of the accepted live purchases of these seven UTC days. */
  coverage: Record<string, number>
}

/** Hundredths of a point that each key is worth at the simulator (graph-simulator/README.md). */
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
const HOUR_MILLISECONDS = 3_600_000
const DAY_MILLISECONDS = 24 * HOUR_MILLISECONDS
const WINDOW_HOURS = 7 * 24
const DUE_HOUR = 5
const FALL_TENTHS = 10
const LOW_TENTHS = 40

interface Measured {
  at: Date
  tenths: number
}

/** The snapshots of a shop, oldest first, worked out from what the platform kept. */
export function trueQualities(
  { arrivals, jobs }: MonthStory,
  { datasetId }: ToldShop,
): TrueQuality[] {
  const ofShop = arrivals.filter(arrival => arrival.datasetId === datasetId)
  const measured: Measured[] = []
  const truths: TrueQuality[] = []
  for (const { at } of measuringTimes(jobs, ofShop)) {
    const now = { at, tenths: scoreTenths(ofShop, at) }
    const before = weekBefore(measured, at)
    const change = before && now.tenths - before.tenths
    measured.push(now)
    truths.push({
      date: dayOf(at),
      measuredAt: at.toISOString(),
      score: now.tenths / 10,
      change: change === null ? null : change / 10,
      alerted: (change !== null && change <= -FALL_TENTHS) || now.tenths < LOW_TENTHS,
      coverage: coverageOf(ofShop, at),
    })
  }
  return truths
}

/** The first call of each day from five o'clock on at which the platform tells anything. */
function measuringTimes(jobs: readonly JobMoment[], arrivals: readonly Arrival[]): JobMoment[] {
  const possible = jobs.filter(
    ({ at, showsQuality }) =>
      showsQuality &&
      at.getUTCHours() >= DUE_HOUR &&
      arrivals.some(arrival => isAccepted(arrival) && arrival.at <= at),
  )
  const ofDays = Map.groupBy(possible, ({ at }) => dayOf(at))
  return [...ofDays.values()].flatMap(([first]) => first ?? [])
}

/** In tenths of a point, by whole numbers: half a tenth goes up. */
function scoreTenths(arrivals: readonly Arrival[], at: Date): number {
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

/** Of the days 6 to 8 before the one closest to 7, and of two as close the one by the clock. */
function weekBefore(measured: readonly Measured[], at: Date): Measured | null {
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
function coverageOf(arrivals: readonly Arrival[], at: Date): Record<string, number> {
  const firstDay = dayOf(new Date(at.getTime() - 6 * DAY_MILLISECONDS))
  const counted = arrivals.filter(
    arrival =>
      isAccepted(arrival) &&
      arrival.eventName === 'Purchase' &&
      arrival.at <= at &&
      dayOf(arrival.at) >= firstDay,
  )
  const keys = new Set(counted.flatMap(arrival => arrival.keys))
  const share = (key: string) => {
    const carrying = counted.filter(arrival => arrival.keys.includes(key)).length
    return Math.floor((carrying * 1_000) / counted.length) / 10
  }
  return Object.fromEntries([...keys].sort().map(key => [key, share(key)]))
}
