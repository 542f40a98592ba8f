import { type Purchase, purchaseEventId } from '@signalbox/example-cdnow/purchases.ts'
import { createSeededRandom, type SeededRandom } from '../../fixtures/seeded-random.ts'
import {
  CALM_TRADE,
  isTestTrade,
  LOSSY_TRADE,
  MONTH_DAYS,
  type MonthDay,
  monthCalendar,
  TRADE_HOURS,
  timeAt,
} from './calendar.ts'
import { assignShop, createMonthEvent, groupPurchasesByDay, type MonthEvent } from './events.ts'

/** Events of a name that somebody else's server gives the platform, to the first shop's dataset. */
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
  /** Requests that were made before are made again. */
  repeated: MonthEvent[]
  foreignEvents: ForeignEvents[]
  /** Page views that only the Pixel tells of. */
  pixelViews: number
  testPurchases: number
}

export interface MonthPlan {
  batchMax: number
  /** The platform counts a second copy from a server too. */
  countsDuplicates: boolean
  countsAsText: boolean
  days: MonthDay[]
  /** In the order of time. */
  tradingHours: TradingHour[]
}

const LAST_TRADE = TRADE_HOURS.length - 1
const OTHERS_BEGIN = 3
const LATE_SHARE = 0.08
const LATE_DAYS_MAX = 5
const REPEAT_SHARE = 0.1
const REFUSED_SHARE = 0.4
const PIXEL_SHARE = 0.5

/**
 * Everything that happens in the month with this seed, before any of it happens. Causes that a
 * report can only estimate never meet in one event name of one day, so that it can be right:
 * - others send under our name `Lead`, which always gets its answer;
 * - the Pixel tells of what is not lost on the way (`hasLostAnswers`).
 */
export function createMonthPlan(seed: number): MonthPlan {
  const choices = createSeededRandom(seed)
  const days = monthCalendar(choices)
  const trades = days.flatMap(day => hoursOf(day).map(number => createTradingHour(day, number)))
  const plan: MonthPlan = {
    batchMax: choices.pick([12, 40, 1_000]),
    countsDuplicates: seed % 2 === 0,
    countsAsText: choices.random() < 0.5,
    days,
    tradingHours: trades,
  }
  for (const [number, purchases] of groupPurchasesByDay().entries()) {
    for (const purchase of purchases) planPurchase(choices, plan, { number, purchase })
  }
  for (const trade of trades) planTradingHour(choices, plan, trade)
  return plan
}

/** After the month, when all has come to its end, two a day are enough. */
function hoursOf({ number }: MonthDay): number[] {
  return number > MONTH_DAYS ? [CALM_TRADE, LAST_TRADE] : [...TRADE_HOURS.keys()]
}

function createTradingHour(day: MonthDay, number: number): TradingHour {
  const isTest = isTestTrade(day, number)
  return {
    number,
    day,
    at: timeAt(day, TRADE_HOURS[number] ?? 0),
    isTest,
    events: [],
    repeated: [],
    foreignEvents: [],
    pixelViews: 0,
    testPurchases: isTest && number === LOSSY_TRADE ? 2 : 0,
  }
}

export function platformStateOf({ day, number }: TradingHour) {
  const weather = day.platformStates[number]
  if (!weather) throw new RangeError(`there is no hour of trade ${number}`)
  return weather
}

function planPurchase(
  choices: SeededRandom,
  plan: MonthPlan,
  { number, purchase }: { number: number; purchase: Purchase },
): void {
  const { days, tradingHours: trades } = plan
  const shop = assignShop(purchase)
  const happensAt = timeAt({ number }, choices.integer(0, 86_399) / 3_600)
  const isLate = shop === 0 && choices.random() < LATE_SHARE
  const lateDay = number + choices.integer(1, LATE_DAYS_MAX)
  const lateTrades = trades.filter(({ day }) => isLate && day.number === lateDay)
  const soon = trades.find(({ at }) => at > happensAt)
  const trade = lateTrades.length > 0 ? choices.pick(lateTrades) : soon
  const tellsPixel = shop === 0 && !isLate && !hasLostAnswers(days, number)
  findReliableHour(plan, trade, number)?.events.push(
    createMonthEvent({
      shop,
      eventId: purchaseEventId(purchase),
      eventName: 'Purchase',
      happensAt,
      purchase,
      repeat: choices.random() < REPEAT_SHARE ? choices.pick(['at once', 'later']) : null,
      pixel: tellsPixel ? choosePixel(choices) : null,
    }),
  )
}

/** What the Pixel tells of too must not get lost, not even days later: then it goes at eight. */
function findReliableHour(
  { days, tradingHours: trades }: MonthPlan,
  trade: TradingHour | undefined,
  number: number,
): TradingHour | undefined {
  if (
    !trade ||
    platformStateOf(trade).availability !== 'unanswered' ||
    hasLostAnswers(days, number)
  )
    return trade
  return trades.find(({ day, number }) => day === trade.day && number === CALM_TRADE)
}

/** Something that happened on the day may be sent at an hour whose answers get lost. */
function hasLostAnswers(days: readonly MonthDay[], number: number): boolean {
  const weather = [
    ...(days[number]?.platformStates ?? []),
    ...(days[number + 1]?.platformStates.slice(0, 1) ?? []),
  ]
  return weather.some(({ availability: sky }) => sky === 'unanswered')
}

function choosePixel(choices: SeededRandom): 'before' | 'after' | null {
  return choices.random() < PIXEL_SHARE ? choices.pick(['before', 'after']) : null
}

/** What is no real purchase, and what becomes of those that are. */
function planTradingHour(
  choices: SeededRandom,
  { tradingHours: trades }: MonthPlan,
  trade: TradingHour,
): void {
  const { number, day, events } = trade
  if (platformStateOf(trade).availability === 'unanswered' && number === LOSSY_TRADE)
    planDepartures(choices, trade)
  const laterTrade = trades[trades.indexOf(trade) + choices.integer(1, 12)]
  laterTrade?.repeated.push(...events.filter(({ repeat }) => repeat === 'later'))
  planViews(choices, trade)
  if (number === CALM_TRADE) planReliableHour(choices, trade)
  if (number === LOSSY_TRADE && day.number >= OTHERS_BEGIN) {
    trade.pixelViews = choices.integer(5, 50)
    trade.foreignEvents = chooseForeignEvents(choices, day)
  }
}

/** Where answers get lost, some leave before the events can be sent again. */
function planDepartures(choices: SeededRandom, trade: TradingHour): void {
  const purchases = trade.events.filter(({ shop }) => shop === 0)
  for (const [index, leaving] of (['is forgotten', 'withdraws'] as const).entries()) {
    const event = purchases[index]
    if (event) Object.assign(event, { leaving, repeat: null })
  }
  // An hour may have no purchase; somebody is always at the checkout.
  const leaving = 'withdraws'
  trade.events.push(createNamedEvent(choices, trade, 'InitiateCheckout', { departure: leaving }))
}

/** Not before there are orders, by which the match is measured. */
function planViews(choices: SeededRandom, trade: TradingHour): void {
  const views = trade.day.number > 0 ? choices.integer(0, 2) : 0
  for (let index = 0; index < views; index += 1) {
    trade.events.push(createNamedEvent(choices, trade, 'PageView', { shop: index === 0 ? 0 : 1 }))
  }
}

function planReliableHour(choices: SeededRandom, trade: TradingHour): void {
  for (let index = choices.integer(1, 3); index > 0; index -= 1) {
    trade.events.push(createNamedEvent(choices, trade, 'Lead'))
  }
  for (let index = choices.integer(1, 4); index > 0; index -= 1) {
    trade.events.push(
      createNamedEvent(choices, trade, 'AddToCart', { pixel: choosePixel(choices) }),
    )
  }
  if (choices.random() < REFUSED_SHARE) {
    trade.events.push(createNamedEvent(choices, trade, 'Lead', { isRefused: true }))
  }
  if (choices.random() < REFUSED_SHARE) {
    trade.events.push(createNamedEvent(choices, trade, 'Lead', { departure: 'withdraws at once' }))
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

/** Names of their own on two days of three; our name on each of them. */
function chooseForeignEvents(choices: SeededRandom, { number }: MonthDay): ForeignEvents[] {
  const names = number % 3 === 2 ? ['Lead'] : ['Lead', 'Search', 'AppInstall']
  return names.map(eventName => ({ eventName, count: choices.integer(1, 9) }))
}
