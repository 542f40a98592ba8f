import type { SeededChoices } from '../seeded-choices.ts'
import {
  cutOff,
  cutSomewhere,
  FINE,
  outage,
  plainOutage,
  TOO_SLOW,
  type Weather,
} from './month-weather.ts'

/** The days that are looked at, and the days until the last alert has come to its end. */
export const MONTH_DAYS = 30
export const STORY_DAYS = 38
export const MONTH_STARTS_AT = '2026-10-01T00:00:00.000Z'

/** When the shops send, in hours of the UTC day. None of them is an hour of the jobs. */
export const TRADE_HOURS: readonly number[] = [0.4, 4, 8, 12, 17, 23.5]
const JOB_HOURS = [6, 9, 15, 21]

/** The platform is always well at this hour of trade, so what must not be lost goes then. */
export const CALM_TRADE = 2
/** The hour of trade whose answers get lost on some days. */
export const LOSSY_TRADE = 3
/** Hours of trade in test mode, on the days that have it. */
const TEST_TRADES = { first: 3, last: 4 }

export type DayKind =
  | 'calm'
  | 'noon outage'
  | 'evening outage'
  | 'night outage'
  | 'night of lost answers'
  | 'lost answers'
  | 'late answers'

export interface MonthDay {
  /** From 0. */
  number: number
  kind: DayKind
  /** By hour of trade. */
  weather: Weather[]
  jobHours: readonly number[]
  /** The platform shows no counts, and in the morning no quality either. */
  isDenied: boolean
  /** Shop 0 is in test mode for some hours. */
  hasTests: boolean
}

const KINDS: Record<Exclude<DayKind, 'calm'>, number> = {
  'night outage': 2,
  'night of lost answers': 2,
  'lost answers': 5,
  'late answers': 2,
  'evening outage': 4,
  'noon outage': 2,
}

/** What every day is like, before anything happens on it. */
export function monthCalendar(choices: SeededChoices): MonthDay[] {
  const missed = choices.integer(8, 12)
  const denied = choices.integer(17, 20)
  const kinds = dayKinds(choices, { missed, denied })
  const tests = testDays(choices, kinds)
  const days = kinds.map((kind, number): MonthDay => {
    const isAfterMissed = number === missed + 1
    return {
      number,
      kind,
      weather: TRADE_HOURS.map(() => FINE),
      // Nobody calls the jobs on one day, and on the next they begin late.
      jobHours: number === missed ? [] : JOB_HOURS.slice(isAfterMissed ? 1 : 0),
      isDenied: number === denied,
      hasTests: tests.has(number),
    }
  })
  for (const day of days) setWeather(choices, day, days[day.number + 1])
  return days
}

export function isTestTrade({ hasTests }: MonthDay, trade: number): boolean {
  return hasTests && trade >= TEST_TRADES.first && trade <= TEST_TRADES.last
}

export function momentAt({ number }: Pick<MonthDay, 'number'>, hours: number): Date {
  const seconds = Math.round((number * 24 + hours) * 3_600)
  return new Date(Date.parse(MONTH_STARTS_AT) + seconds * 1_000)
}

function dayKinds(
  choices: SeededChoices,
  { missed, denied }: { missed: number; denied: number },
): DayKind[] {
  const kinds = Array.from({ length: STORY_DAYS }, (): DayKind => 'calm')
  const free = new Set(kinds.keys().filter(day => day > 0 && day < MONTH_DAYS))
  // Days of which the jobs say nothing in time are told apart best when nothing else is wrong.
  for (const day of [missed, missed + 1, denied]) free.delete(day)
  for (const [kind, count] of Object.entries(KINDS) as [DayKind, number][]) {
    for (let index = 0; index < count; index += 1) {
      // A night that nobody looks at in the morning would show nothing.
      const isNight = kind.startsWith('night')
      const isSeen = (day: number) => !isNight || (day + 1 !== missed && day + 1 !== denied)
      const day = choices.pick([...free].filter(isSeen))
      kinds[day] = kind
      free.delete(day)
    }
  }
  return kinds
}

/** Some calm days, and two on which test purchases get no answer. */
function testDays(choices: SeededChoices, kinds: readonly DayKind[]): Set<number> {
  const days = (kind: DayKind) => [...kinds.keys()].filter(day => day > 0 && kinds[day] === kind)
  const inMonth = days('calm').filter(day => day < MONTH_DAYS)
  const calm = Array.from({ length: 4 }, () => choices.pick(inMonth))
  return new Set([...calm, ...days('lost answers').slice(0, 2), ...days('noon outage').slice(0, 1)])
}

function setWeather(choices: SeededChoices, day: MonthDay, next: MonthDay | undefined): void {
  const { weather, kind } = day
  switch (kind) {
    case 'calm':
      break
    case 'noon outage':
      setTrades(weather, [3], () => outage(choices))
      break
    case 'evening outage':
      setTrades(weather, [4, 5], () => outage(choices))
      break
    case 'lost answers':
      setTrades(weather, [LOSSY_TRADE], () => cutSomewhere(choices))
      break
    case 'late answers':
      setTrades(weather, [LOSSY_TRADE], () => TOO_SLOW)
      break
    case 'night outage':
      setNight(choices, [day, next], plainOutage)
      break
    case 'night of lost answers':
      setNight(choices, [day, next], cutOff)
  }
}

/**
 * From the last hour of trade into the next morning, when the jobs look: what waits then has all
 * arrived, or surely has not, since nobody could tell one from the other. At noon answers get lost.
 */
function setNight(
  choices: SeededChoices,
  [day, next]: [MonthDay, MonthDay | undefined],
  night: (choices: SeededChoices) => Weather,
): void {
  setTrades(day.weather, [LOSSY_TRADE], () => cutSomewhere(choices))
  setTrades(day.weather, [TRADE_HOURS.length - 1], () => night(choices))
  if (next) setTrades(next.weather, [0, 1], () => night(choices))
}

function setTrades(weather: Weather[], trades: readonly number[], make: () => Weather): void {
  for (const trade of trades) weather[trade] = make()
}
