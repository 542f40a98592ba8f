import { type Purchase, purchaseEventId } from '@signalbox/example-cdnow/purchases.ts'
import { createSeededRandom, type SeededRandom } from '../../fixtures/seeded-random.ts'
import {
  createMonthCalendar,
  isTestHour,
  LOSSY_HOUR,
  MONTH_DAYS,
  type MonthDay,
  RELIABLE_HOUR,
  TRADING_HOURS,
  timeAt,
} from './calendar.ts'
import { assignShop, createMonthEvent, groupPurchasesByDay, type MonthEvent } from './events.ts'

/** Events of one name that another server sends to the first shop's dataset. */
export interface ForeignEvents {
  eventName: string
  count: number
}

/** An hour at which the shops send. */
export interface TradingHour {
  number: number
  day: MonthDay
  at: Date
  isTest: boolean
  events: MonthEvent[]
  /** Requests that are sent again. */
  repeated: MonthEvent[]
  foreignEvents: ForeignEvents[]
  /** Page views that only the Pixel reports. */
  pixelViews: number
  testPurchases: number
}

export interface MonthPlan {
  batchMax: number
  /** The platform also counts a second copy from a server. */
  countsDuplicates: boolean
  countsAsText: boolean
  days: MonthDay[]
  /** In chronological order. */
  tradingHours: TradingHour[]
}

const LAST_HOUR = TRADING_HOURS.length - 1
const FOREIGN_EVENTS_START_DAY = 3
const LATE_SHARE = 0.08
const LATE_DAYS_MAX = 5
const REPEAT_SHARE = 0.1
const REFUSED_SHARE = 0.4
const PIXEL_SHARE = 0.5

/**
 * Plans everything that happens in the month with this seed. Causes that a report can only estimate
 * never share an event name on one day, so that its estimate can be exact:
 * - other servers send our name `Lead`, whose responses are never lost;
 * - the Pixel reports only events whose responses are not lost (`hasLostResponses`).
 */
export function createMonthPlan(seed: number): MonthPlan {
  const choices = createSeededRandom(seed)
  const days = createMonthCalendar(choices)
  const tradingHours = days.flatMap(day =>
    listHours(day).map(number => createTradingHour(day, number)),
  )
  const plan: MonthPlan = {
    batchMax: choices.pick([12, 40, 1_000]),
    countsDuplicates: seed % 2 === 0,
    countsAsText: choices.random() < 0.5,
    days,
    tradingHours,
  }
  for (const [number, purchases] of groupPurchasesByDay().entries()) {
    for (const purchase of purchases) planPurchase(choices, plan, { number, purchase })
  }
  for (const tradingHour of tradingHours) planTradingHour(choices, plan, tradingHour)
  return plan
}

/** After the month, when only pending work finishes, two trading hours a day are enough. */
function listHours({ number }: MonthDay): number[] {
  return number > MONTH_DAYS ? [RELIABLE_HOUR, LAST_HOUR] : [...TRADING_HOURS.keys()]
}

function createTradingHour(day: MonthDay, number: number): TradingHour {
  const isTest = isTestHour(day, number)
  return {
    number,
    day,
    at: timeAt(day, TRADING_HOURS[number] ?? 0),
    isTest,
    events: [],
    repeated: [],
    foreignEvents: [],
    pixelViews: 0,
    testPurchases: isTest && number === LOSSY_HOUR ? 2 : 0,
  }
}

export function platformStateOf({ day, number }: TradingHour) {
  const states = day.platformStates[number]
  if (!states) throw new RangeError(`there is no trading hour ${number}`)
  return states
}

function planPurchase(
  choices: SeededRandom,
  plan: MonthPlan,
  { number, purchase }: { number: number; purchase: Purchase },
): void {
  const { days, tradingHours } = plan
  const shop = assignShop(purchase)
  const happensAt = timeAt({ number }, choices.integer(0, 86_399) / 3_600)
  const isLate = shop === 0 && choices.random() < LATE_SHARE
  const lateDay = number + choices.integer(1, LATE_DAYS_MAX)
  const lateHours = tradingHours.filter(({ day }) => isLate && day.number === lateDay)
  const soon = tradingHours.find(({ at }) => at > happensAt)
  const tradingHour = lateHours.length > 0 ? choices.pick(lateHours) : soon
  const isPixelCandidate = shop === 0 && !isLate && !hasLostResponses(days, number)
  findReliableHour(plan, tradingHour, number)?.events.push(
    createMonthEvent({
      shop,
      eventId: purchaseEventId(purchase),
      eventName: 'Purchase',
      happensAt,
      purchase,
      repeat: choices.random() < REPEAT_SHARE ? choices.pick(['immediately', 'later']) : null,
      pixel: isPixelCandidate ? choosePixel(choices) : null,
    }),
  )
}

/** Moves events that the Pixel may report out of hours whose responses are lost. */
function findReliableHour(
  { days, tradingHours }: MonthPlan,
  tradingHour: TradingHour | undefined,
  number: number,
): TradingHour | undefined {
  if (
    !tradingHour ||
    platformStateOf(tradingHour).availability !== 'unanswered' ||
    hasLostResponses(days, number)
  )
    return tradingHour
  return tradingHours.find(({ day, number }) => day === tradingHour.day && number === RELIABLE_HOUR)
}

/** Whether events of the day may be sent at an hour whose responses are lost. */
function hasLostResponses(days: readonly MonthDay[], number: number): boolean {
  const states = [
    ...(days[number]?.platformStates ?? []),
    ...(days[number + 1]?.platformStates.slice(0, 1) ?? []),
  ]
  return states.some(({ availability }) => availability === 'unanswered')
}

function choosePixel(choices: SeededRandom): 'before' | 'after' | null {
  return choices.random() < PIXEL_SHARE ? choices.pick(['before', 'after']) : null
}

/** Plans departures, repeats and every event that is not a purchase of the sample. */
function planTradingHour(
  choices: SeededRandom,
  { tradingHours }: MonthPlan,
  tradingHour: TradingHour,
): void {
  const { number, day, events } = tradingHour
  if (platformStateOf(tradingHour).availability === 'unanswered' && number === LOSSY_HOUR)
    planDepartures(choices, tradingHour)
  const laterHour = tradingHours[tradingHours.indexOf(tradingHour) + choices.integer(1, 12)]
  laterHour?.repeated.push(...events.filter(({ repeat }) => repeat === 'later'))
  planViews(choices, tradingHour)
  if (number === RELIABLE_HOUR) planReliableHour(choices, tradingHour)
  if (number === LOSSY_HOUR && day.number >= FOREIGN_EVENTS_START_DAY) {
    tradingHour.pixelViews = choices.integer(5, 50)
    tradingHour.foreignEvents = chooseForeignEvents(choices, day)
  }
}

/** Where responses are lost, some customers leave before their events can be sent again. */
function planDepartures(choices: SeededRandom, tradingHour: TradingHour): void {
  const purchases = tradingHour.events.filter(({ shop }) => shop === 0)
  for (const [index, departure] of (['is erased', 'withdraws'] as const).entries()) {
    const event = purchases[index]
    if (event) Object.assign(event, { departure, repeat: null })
  }
  // An hour may have no purchase, so one customer always starts a checkout.
  tradingHour.events.push(
    createNamedEvent(choices, tradingHour, 'InitiateCheckout', { departure: 'withdraws' }),
  )
}

/** Not before there are orders, because match quality is measured by orders. */
function planViews(choices: SeededRandom, tradingHour: TradingHour): void {
  const views = tradingHour.day.number > 0 ? choices.integer(0, 2) : 0
  for (let index = 0; index < views; index += 1) {
    tradingHour.events.push(
      createNamedEvent(choices, tradingHour, 'PageView', { shop: index === 0 ? 0 : 1 }),
    )
  }
}

function planReliableHour(choices: SeededRandom, tradingHour: TradingHour): void {
  for (let index = choices.integer(1, 3); index > 0; index -= 1) {
    tradingHour.events.push(createNamedEvent(choices, tradingHour, 'Lead'))
  }
  for (let index = choices.integer(1, 4); index > 0; index -= 1) {
    tradingHour.events.push(
      createNamedEvent(choices, tradingHour, 'AddToCart', { pixel: choosePixel(choices) }),
    )
  }
  if (choices.random() < REFUSED_SHARE) {
    tradingHour.events.push(createNamedEvent(choices, tradingHour, 'Lead', { isRefused: true }))
  }
  if (choices.random() < REFUSED_SHARE) {
    tradingHour.events.push(
      createNamedEvent(choices, tradingHour, 'Lead', { departure: 'withdraws immediately' }),
    )
  }
}

const NAME_SECONDS_MAX = 1_800

/** An event of the last half hour. */
function createNamedEvent(
  choices: SeededRandom,
  { at, events }: TradingHour,
  eventName: string,
  changes: Partial<MonthEvent> = {},
): MonthEvent {
  const happensAt = new Date(at.getTime() - choices.integer(1, NAME_SECONDS_MAX) * 1_000)
  const eventId = `${eventName}-${at.toISOString().slice(0, 16)}-${events.length}`
  return createMonthEvent({ shop: 0, eventId, eventName, happensAt, ...changes })
}

/** Our name every day, and other names on two days of three. */
function chooseForeignEvents(choices: SeededRandom, { number }: MonthDay): ForeignEvents[] {
  const names = number % 3 === 2 ? ['Lead'] : ['Lead', 'Search', 'AppInstall']
  return names.map(eventName => ({ eventName, count: choices.integer(1, 9) }))
}
