import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { SeededRandom } from '../../fixtures/seeded-random.ts'

/** The days that are looked at, and the days until the last alert has come to its end. */
export const MONTH_DAYS = 30
export const SIMULATED_DAYS = 38
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

type DayKind =
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
  platformStates: PlatformState[]
  jobHours: readonly number[]
  /** The platform shows no counts, and in the morning no quality either. */
  isReportingDenied: boolean
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
export function monthCalendar(choices: SeededRandom): MonthDay[] {
  const missed = choices.integer(8, 12)
  const denied = choices.integer(17, 20)
  const kinds = chooseDayKinds(choices, { missed, denied })
  const tests = chooseTestDays(choices, kinds)
  const days = kinds.map((kind, number): MonthDay => {
    const isAfterMissed = number === missed + 1
    return {
      number,
      kind,
      platformStates: TRADE_HOURS.map(() => AVAILABLE),
      // Nobody calls the jobs on one day, and on the next they begin late.
      jobHours: number === missed ? [] : JOB_HOURS.slice(isAfterMissed ? 1 : 0),
      isReportingDenied: number === denied,
      hasTests: tests.has(number),
    }
  })
  for (const day of days) setPlatformStates(choices, day, days[day.number + 1])
  return days
}

export function isTestTrade({ hasTests }: MonthDay, trade: number): boolean {
  return hasTests && trade >= TEST_TRADES.first && trade <= TEST_TRADES.last
}

export function timeAt({ number }: Pick<MonthDay, 'number'>, hours: number): Date {
  const seconds = Math.round((number * 24 + hours) * 3_600)
  return new Date(Date.parse(MONTH_STARTS_AT) + seconds * 1_000)
}

function chooseDayKinds(
  choices: SeededRandom,
  { missed, denied }: { missed: number; denied: number },
): DayKind[] {
  const kinds = Array.from({ length: SIMULATED_DAYS }, (): DayKind => 'calm')
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
function chooseTestDays(choices: SeededRandom, kinds: readonly DayKind[]): Set<number> {
  const days = (kind: DayKind) => [...kinds.keys()].filter(day => day > 0 && kinds[day] === kind)
  const inMonth = days('calm').filter(day => day < MONTH_DAYS)
  const calm = Array.from({ length: 4 }, () => choices.pick(inMonth))
  return new Set([...calm, ...days('lost answers').slice(0, 2), ...days('noon outage').slice(0, 1)])
}

function setPlatformStates(choices: SeededRandom, day: MonthDay, next: MonthDay | undefined): void {
  const { platformStates: weather, kind } = day
  switch (kind) {
    case 'calm':
      break
    case 'noon outage':
      setHours(weather, [3], () => createOutage(choices))
      break
    case 'evening outage':
      setHours(weather, [4, 5], () => createOutage(choices))
      break
    case 'lost answers':
      setHours(weather, [LOSSY_TRADE], () => createPartialLoss(choices))
      break
    case 'late answers':
      setHours(weather, [LOSSY_TRADE], () => SLOW)
      break
    case 'night outage':
      setOvernightState(choices, [day, next], createErrorOutage)
      break
    case 'night of lost answers':
      setOvernightState(choices, [day, next], createResponseLoss)
  }
}

/**
 * From the last hour of trade into the next morning, when the jobs look: what waits then has all
 * arrived, or surely has not, since nobody could tell one from the other. At noon answers get lost.
 */
function setOvernightState(
  choices: SeededRandom,
  [day, next]: [MonthDay, MonthDay | undefined],
  night: (choices: SeededRandom) => PlatformState,
): void {
  setHours(day.platformStates, [LOSSY_TRADE], () => createPartialLoss(choices))
  setHours(day.platformStates, [TRADE_HOURS.length - 1], () => night(choices))
  if (next) setHours(next.platformStates, [0, 1], () => night(choices))
}

function setHours(
  weather: PlatformState[],
  trades: readonly number[],
  make: () => PlatformState,
): void {
  for (const trade of trades) weather[trade] = make()
}

/** How the platform takes events at one moment. */
interface PlatformState {
  /**
   * - fine: it takes them and says so.
   * - down: it takes nothing.
   * - unanswered: it takes them, some or all, and nobody hears of it.
   */
  availability: 'fine' | 'down' | 'unanswered'
  rules: readonly FaultRule[]
  /** The answer comes, but later than anybody waits for it. */
  isSlow?: boolean
}

const AVAILABLE: PlatformState = { availability: 'fine', rules: [] }

/** It says so itself: nobody needs to wonder whether it has the events. */
const ERROR_RESPONSES: readonly FaultRule[] = [
  { respond: { status: 503, code: 2, is_transient: true } },
  { respond: { status: 500, code: 1 } },
  { respond: { status: 400, code: 4 } },
  { respond: { status: 429, body: '', headers: { 'retry-after': '120' } } },
]

/** Nothing arrives, and the sender cannot know. */
const LOST_REQUESTS: readonly FaultRule[] = [
  { abort: 'before_response' },
  { respond: { status: 502, body: '<html>Bad Gateway</html>' } },
  { respond: { status: 200, body: '{"events_rec' } },
]

/** All of it arrives, and the sender cannot know. */
const LOST_RESPONSES: readonly FaultRule[] = [
  { abort: 'after_store' },
  { truncate: 0 },
  { truncate: 20 },
]

/** A part of it arrives, and the sender cannot know. */
const PARTIAL_WRITES: readonly FaultRule[] = [
  { keep_events: 2, abort: 'after_store' },
  { keep_events: 5, truncate: 10 },
]

const SLOW_RESPONSE_MILLISECONDS = 3_000

function createOutage(choices: SeededRandom): PlatformState {
  return { availability: 'down', rules: [choices.pick([...ERROR_RESPONSES, ...LOST_REQUESTS])] }
}

/** An outage of which the sender knows that nothing arrives. */
function createErrorOutage(choices: SeededRandom): PlatformState {
  return { availability: 'down', rules: [choices.pick(ERROR_RESPONSES)] }
}

function createResponseLoss(choices: SeededRandom): PlatformState {
  return { availability: 'unanswered', rules: [choices.pick(LOST_RESPONSES)] }
}

function createPartialLoss(choices: SeededRandom): PlatformState {
  return {
    availability: 'unanswered',
    rules: [choices.pick([...LOST_RESPONSES, ...PARTIAL_WRITES])],
  }
}

/** The platform takes everything and answers too late. */
const SLOW: PlatformState = {
  availability: 'unanswered',
  rules: [{ delay_ms: SLOW_RESPONSE_MILLISECONDS }],
  isSlow: true,
}
