import { type Purchase, purchaseEventId } from '@signalbox/example-cdnow/purchases.ts'
import { type SeededChoices, seededChoices } from '../seeded-choices.ts'
import {
  CALM_TRADE,
  isTestTrade,
  LOSSY_TRADE,
  MONTH_DAYS,
  type MonthDay,
  momentAt,
  monthCalendar,
  TRADE_HOURS,
} from './month-calendar.ts'
import { type MonthEvent, plainEvent, purchasesByDay, shopOf } from './month-events.ts'

/** Events of a name that somebody else's server gives the platform, to the first shop's dataset. */
export interface OthersEvents {
  eventName: string
  count: number
}

/** An hour at which the shops send. */
export interface Trade {
  number: number
  day: MonthDay
  at: Date
  isTest: boolean
  events: MonthEvent[]
  /** Requests that were made before are made again. */
  repeated: MonthEvent[]
  others: OthersEvents[]
  /** Page views that only the Pixel tells of. */
  pixelViews: number
  testPurchases: number
}

export interface MonthPlan {
  batchMax: number
  /** The platform counts a second copy from a server too. */
  countsCopies: boolean
  countsAsText: boolean
  days: MonthDay[]
  /** In the order of time. */
  trades: Trade[]
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
export function monthPlan(seed: number): MonthPlan {
  const choices = seededChoices(seed)
  const days = monthCalendar(choices)
  const trades = days.flatMap(day => tradesOf(day).map(number => emptyTrade(day, number)))
  const plan: MonthPlan = {
    batchMax: choices.pick([12, 40, 1_000]),
    countsCopies: seed % 2 === 0,
    countsAsText: choices.chance() < 0.5,
    days,
    trades,
  }
  for (const [number, purchases] of purchasesByDay().entries()) {
    for (const purchase of purchases) planPurchase(choices, plan, { number, purchase })
  }
  for (const trade of trades) planTrade(choices, plan, trade)
  return plan
}

/** After the month, when all has come to its end, two a day are enough. */
function tradesOf({ number }: MonthDay): number[] {
  return number > MONTH_DAYS ? [CALM_TRADE, LAST_TRADE] : [...TRADE_HOURS.keys()]
}

function emptyTrade(day: MonthDay, number: number): Trade {
  const isTest = isTestTrade(day, number)
  return {
    number,
    day,
    at: momentAt(day, TRADE_HOURS[number] ?? 0),
    isTest,
    events: [],
    repeated: [],
    others: [],
    pixelViews: 0,
    testPurchases: isTest && number === LOSSY_TRADE ? 2 : 0,
  }
}

export function weatherOf({ day, number }: Trade) {
  const weather = day.weather[number]
  if (!weather) throw new RangeError(`there is no hour of trade ${number}`)
  return weather
}

function planPurchase(
  choices: SeededChoices,
  plan: MonthPlan,
  { number, purchase }: { number: number; purchase: Purchase },
): void {
  const { days, trades } = plan
  const shop = shopOf(purchase)
  const happensAt = momentAt({ number }, choices.integer(0, 86_399) / 3_600)
  const isLate = shop === 0 && choices.chance() < LATE_SHARE
  const lateDay = number + choices.integer(1, LATE_DAYS_MAX)
  const lateTrades = trades.filter(({ day }) => isLate && day.number === lateDay)
  const soon = trades.find(({ at }) => at > happensAt)
  const trade = lateTrades.length > 0 ? choices.pick(lateTrades) : soon
  const tellsPixel = shop === 0 && !isLate && !hasLostAnswers(days, number)
  calmEnough(plan, trade, number)?.events.push(
    plainEvent({
      shop,
      eventId: purchaseEventId(purchase),
      eventName: 'Purchase',
      happensAt,
      purchase,
      repeat: choices.chance() < REPEAT_SHARE ? choices.pick(['at once', 'later']) : null,
      pixel: tellsPixel ? somePixel(choices) : null,
    }),
  )
}

/** What the Pixel tells of too must not get lost, not even days later: then it goes at eight. */
function calmEnough(
  { days, trades }: MonthPlan,
  trade: Trade | undefined,
  number: number,
): Trade | undefined {
  if (!trade || weatherOf(trade).sky !== 'unanswered' || hasLostAnswers(days, number)) return trade
  return trades.find(({ day, number }) => day === trade.day && number === CALM_TRADE)
}

/** Something that happened on the day may be sent at an hour whose answers get lost. */
function hasLostAnswers(days: readonly MonthDay[], number: number): boolean {
  const weather = [
    ...(days[number]?.weather ?? []),
    ...(days[number + 1]?.weather.slice(0, 1) ?? []),
  ]
  return weather.some(({ sky }) => sky === 'unanswered')
}

function somePixel(choices: SeededChoices): 'before' | 'after' | null {
  return choices.chance() < PIXEL_SHARE ? choices.pick(['before', 'after']) : null
}

/** What is no real purchase, and what becomes of those that are. */
function planTrade(choices: SeededChoices, { trades }: MonthPlan, trade: Trade): void {
  const { number, day, events } = trade
  if (weatherOf(trade).sky === 'unanswered' && number === LOSSY_TRADE) planLeaving(choices, trade)
  const laterTrade = trades[trades.indexOf(trade) + choices.integer(1, 12)]
  laterTrade?.repeated.push(...events.filter(({ repeat }) => repeat === 'later'))
  planViews(choices, trade)
  if (number === CALM_TRADE) planCalmTrade(choices, trade)
  if (number === LOSSY_TRADE && day.number >= OTHERS_BEGIN) {
    trade.pixelViews = choices.integer(5, 50)
    trade.others = someOthers(choices, day)
  }
}

/** Where answers get lost, some leave before the events can be sent again. */
function planLeaving(choices: SeededChoices, trade: Trade): void {
  const purchases = trade.events.filter(({ shop }) => shop === 0)
  for (const [index, leaving] of (['is forgotten', 'withdraws'] as const).entries()) {
    const event = purchases[index]
    if (event) Object.assign(event, { leaving, repeat: null })
  }
  // An hour may have no purchase; somebody is always at the checkout.
  const leaving = 'withdraws'
  trade.events.push(namedEvent(choices, trade, 'InitiateCheckout', { leaving }))
}

/** Not before there are orders, by which the match is measured. */
function planViews(choices: SeededChoices, trade: Trade): void {
  const views = trade.day.number > 0 ? choices.integer(0, 2) : 0
  for (let index = 0; index < views; index += 1) {
    trade.events.push(namedEvent(choices, trade, 'PageView', { shop: index === 0 ? 0 : 1 }))
  }
}

function planCalmTrade(choices: SeededChoices, trade: Trade): void {
  for (let index = choices.integer(1, 3); index > 0; index -= 1) {
    trade.events.push(namedEvent(choices, trade, 'Lead'))
  }
  for (let index = choices.integer(1, 4); index > 0; index -= 1) {
    trade.events.push(namedEvent(choices, trade, 'AddToCart', { pixel: somePixel(choices) }))
  }
  if (choices.chance() < REFUSED_SHARE) {
    trade.events.push(namedEvent(choices, trade, 'Lead', { isRefused: true }))
  }
  if (choices.chance() < REFUSED_SHARE) {
    trade.events.push(namedEvent(choices, trade, 'Lead', { leaving: 'withdraws at once' }))
  }
}

const NAME_SECONDS_MAX = 1_800

/** An event of the last half hour. */
function namedEvent(
  choices: SeededChoices,
  { at, events }: Trade,
  eventName: string,
  changes: Partial<MonthEvent> = {},
): MonthEvent {
  const happensAt = new Date(at.getTime() - choices.integer(1, NAME_SECONDS_MAX) * 1_000)
  const eventId = `${eventName}-${at.toISOString().slice(0, 16)}-${events.length}`
  return plainEvent({ shop: 0, eventId, eventName, happensAt, ...changes })
}

/** Names of their own on two days of three; our name on each of them. */
function someOthers(choices: SeededChoices, { number }: MonthDay): OthersEvents[] {
  const names = number % 3 === 2 ? ['Lead'] : ['Lead', 'Search', 'AppInstall']
  return names.map(eventName => ({ eventName, count: choices.integer(1, 9) }))
}
