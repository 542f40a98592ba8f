import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import { formatUtcDay, HOUR_SECONDS } from '../../../service/runtime/util/time.ts'
import type { SeededRandom } from '../../fixtures/seeded-random.ts'

/** Days that are checked, and days until the last alert is resolved. */
export const MONTH_DAYS = 30
export const SIMULATED_DAYS = 38
export const MONTH_STARTS_AT = '2026-10-01T00:00:00.000Z'

/** When the shops send, in hours of the UTC day. Jobs never run at these hours. */
export const TRADING_HOURS: readonly number[] = [0.4, 4, 8, 12, 17, 23.5]
const JOB_HOURS = [6, 9, 15, 21]

/** Trading hour at which the platform is always available; events that must not be lost use it. */
export const RELIABLE_HOUR = 2
/** Trading hour at which responses are lost on some days. */
export const LOSSY_HOUR = 3
/** Trading hours in test mode, on days that have it. */
const TEST_HOURS = { first: 3, last: 4 }

type DayKind =
  | 'calm'
  | 'noon outage'
  | 'evening outage'
  | 'overnight outage'
  | 'overnight response loss'
  | 'response loss'
  | 'slow responses'

export interface MonthDay {
  /** From 0. */
  number: number
  kind: DayKind
  /** By trading hour. */
  platformStates: PlatformState[]
  jobHours: readonly number[]
  /** The platform denies access to counts, and in the morning to match quality too. */
  isReportingDenied: boolean
  /** Shop 0 is in test mode for some hours. */
  hasTests: boolean
}

const DAY_COUNTS: Record<Exclude<DayKind, 'calm'>, number> = {
  'overnight outage': 2,
  'overnight response loss': 2,
  'response loss': 5,
  'slow responses': 2,
  'evening outage': 4,
  'noon outage': 2,
}

/** Chooses the kind of each day and the platform's state at each trading hour. */
export function createMonthCalendar(choices: SeededRandom): MonthDay[] {
  const missed = choices.integer(8, 12)
  const denied = choices.integer(17, 20)
  const kinds = chooseDayKinds(choices, { missed, denied })
  const tests = chooseTestDays(choices, kinds)
  const days = kinds.map((kind, number): MonthDay => {
    const isAfterMissed = number === missed + 1
    return {
      number,
      kind,
      platformStates: TRADING_HOURS.map(() => AVAILABLE),
      // The jobs do not run on one day and start late on the next.
      jobHours: number === missed ? [] : JOB_HOURS.slice(isAfterMissed ? 1 : 0),
      isReportingDenied: number === denied,
      hasTests: tests.has(number),
    }
  })
  for (const day of days) setPlatformStates(choices, day, days[day.number + 1])
  return days
}

export function isTestHour({ hasTests }: MonthDay, tradingHour: number): boolean {
  return hasTests && tradingHour >= TEST_HOURS.first && tradingHour <= TEST_HOURS.last
}

export function timeAt({ number }: Pick<MonthDay, 'number'>, hours: number): Date {
  const seconds = Math.round((number * 24 + hours) * HOUR_SECONDS)
  return new Date(Date.parse(MONTH_STARTS_AT) + seconds * 1_000)
}

/** Every UTC day of the month. */
export function listMonthDates(): string[] {
  return Array.from({ length: MONTH_DAYS }, (_, number) => formatUtcDay(timeAt({ number }, 0)))
}

function chooseDayKinds(
  choices: SeededRandom,
  { missed, denied }: { missed: number; denied: number },
): DayKind[] {
  const kinds = Array.from({ length: SIMULATED_DAYS }, (): DayKind => 'calm')
  const free = new Set(kinds.keys().filter(day => day > 0 && day < MONTH_DAYS))
  // Days whose jobs run late get no other fault, so that their effect can be told apart.
  for (const day of [missed, missed + 1, denied]) free.delete(day)
  for (const [kind, count] of Object.entries(DAY_COUNTS) as [DayKind, number][]) {
    for (let index = 0; index < count; index += 1) {
      // An overnight fault is only visible if the jobs run the next morning.
      const isOvernight = kind.startsWith('overnight')
      const isSeen = (day: number) => !isOvernight || (day + 1 !== missed && day + 1 !== denied)
      const day = choices.pick([...free].filter(isSeen))
      kinds[day] = kind
      free.delete(day)
    }
  }
  return kinds
}

/** Some calm days, and two on which test purchases get no response. */
function chooseTestDays(choices: SeededRandom, kinds: readonly DayKind[]): Set<number> {
  const days = (kind: DayKind) => [...kinds.keys()].filter(day => day > 0 && kinds[day] === kind)
  const inMonth = days('calm').filter(day => day < MONTH_DAYS)
  const calm = Array.from({ length: 4 }, () => choices.pick(inMonth))
  return new Set([
    ...calm,
    ...days('response loss').slice(0, 2),
    ...days('noon outage').slice(0, 1),
  ])
}

function setPlatformStates(choices: SeededRandom, day: MonthDay, next: MonthDay | undefined): void {
  const { platformStates: states, kind } = day
  switch (kind) {
    case 'calm':
      break
    case 'noon outage':
      setHours(states, [3], () => createOutage(choices))
      break
    case 'evening outage':
      setHours(states, [4, 5], () => createOutage(choices))
      break
    case 'response loss':
      setHours(states, [LOSSY_HOUR], () => createPartialLoss(choices))
      break
    case 'slow responses':
      setHours(states, [LOSSY_HOUR], () => SLOW)
      break
    case 'overnight outage':
      setOvernightState(choices, [day, next], createErrorOutage)
      break
    case 'overnight response loss':
      setOvernightState(choices, [day, next], createResponseLoss)
  }
}

/**
 * From the last trading hour until the next morning, when the jobs run: pending events have either
 * all arrived or all failed, because a report cannot distinguish the two. At noon, responses are
 * lost too.
 */
function setOvernightState(
  choices: SeededRandom,
  [day, next]: [MonthDay, MonthDay | undefined],
  night: (choices: SeededRandom) => PlatformState,
): void {
  setHours(day.platformStates, [LOSSY_HOUR], () => createPartialLoss(choices))
  setHours(day.platformStates, [TRADING_HOURS.length - 1], () => night(choices))
  if (next) setHours(next.platformStates, [0, 1], () => night(choices))
}

function setHours(
  states: PlatformState[],
  tradingHours: readonly number[],
  make: () => PlatformState,
): void {
  for (const tradingHour of tradingHours) states[tradingHour] = make()
}

/** How the platform receives events at one moment. */
interface PlatformState {
  /**
   * - available: it stores events and responds.
   * - down: it stores nothing.
   * - unanswered: it stores some or all events, and the sender receives no usable response.
   */
  availability: 'available' | 'down' | 'unanswered'
  rules: readonly FaultRule[]
  /** The response arrives after the sender's timeout. */
  isSlow?: boolean
}

const AVAILABLE: PlatformState = { availability: 'available', rules: [] }

/** Explicit errors: the sender knows that the events were not stored. */
const ERROR_RESPONSES: readonly FaultRule[] = [
  { respond: { status: 503, code: 2, is_transient: true } },
  { respond: { status: 500, code: 1 } },
  { respond: { status: 400, code: 4 } },
  { respond: { status: 429, body: '', headers: { 'retry-after': '120' } } },
]

/** Nothing is stored, and the sender cannot know. */
const LOST_REQUESTS: readonly FaultRule[] = [
  { abort: 'before_response' },
  { respond: { status: 502, body: '<html>Bad Gateway</html>' } },
  { respond: { status: 200, body: '{"events_rec' } },
]

/** Everything is stored, and the sender cannot know. */
const LOST_RESPONSES: readonly FaultRule[] = [
  { abort: 'after_store' },
  { truncate: 0 },
  { truncate: 20 },
]

/** Some events are stored, and the sender cannot know. */
const PARTIAL_WRITES: readonly FaultRule[] = [
  { keep_events: 2, abort: 'after_store' },
  { keep_events: 5, truncate: 10 },
]

const SLOW_RESPONSE_MILLISECONDS = 3_000

function createOutage(choices: SeededRandom): PlatformState {
  return { availability: 'down', rules: [choices.pick([...ERROR_RESPONSES, ...LOST_REQUESTS])] }
}

/** An outage with explicit errors. */
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

/** The platform stores everything and responds after the timeout. */
const SLOW: PlatformState = {
  availability: 'unanswered',
  rules: [{ delay_ms: SLOW_RESPONSE_MILLISECONDS }],
  isSlow: true,
}
