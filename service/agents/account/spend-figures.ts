import type { AdMetrics, Efficiency, Performance } from '@signalbox/contract/agents/account.ts'
import type { EntityType } from '@signalbox/contract/agents/actions.ts'
import { minorUnitDigits } from '@signalbox/contract/agents/amounts.ts'
import type { Database } from '../../runtime/db/database.ts'
import { subtractDays, toDaySpan } from '../../runtime/util/time.ts'
import { findAccountHistory, findPurchasesByCampaign } from './campaign-store.ts'
import { sumPurchasesByDay } from './performance-store.ts'
import {
  type DayDelivery,
  deliveryKey,
  type EntityDelivery,
  simulateDelivery,
  toMetrics,
} from './simulated-delivery.ts'
import { type AccountHistory, type CampaignSpend, simulateSpend } from './simulated-spend.ts'

type SpendFigures = Performance['spend']

interface SpendQuery {
  account: { adAccountId: number; currency: string }
  trackerIds: readonly string[]
  /** UTC days, YYYY-MM-DD, inclusive. */
  span: { since: string; until: string }
  /** The first day of the period before; null if it is not compared. */
  previousSince: string | null
  now: Date
  /** Which entities to return beside the campaigns. */
  breakdown: Breakdown
}

/**
 * The simulated spend of the ad account beside the purchases that we stored: in total, for the
 * period before, by day and by campaign. Refunds are events of their own and are not subtracted.
 */
export async function readSpendFigures(
  database: Database,
  { account, trackerIds, span, previousSince, now, breakdown }: SpendQuery,
): Promise<SpendFigures> {
  const { adAccountId, currency } = account
  const first = toDaySpan(previousSince ?? span.since).from
  const history = await findAccountHistory(database, adAccountId, first)
  const figures = await sumPurchasesByDay(database, trackerIds, first)
  const time = { from: toDaySpan(span.since).from, until: toDaySpan(span.until).until }
  const bought = await findPurchasesByCampaign(database, trackerIds, time)
  const days = listDays(span.since, span.until)
  const previousDays = previousSince === null ? [] : listDays(previousSince, dayBefore(span.since))
  const spend = simulateSpend(history, [...previousDays, ...days], now)
  const delivery = simulateDelivery(history.entities, spend)
  const all = history.entities
    .filter(({ type }) => type === 'campaign')
    .flatMap(entity => delivery.get(deliveryKey(entity)) ?? [])
  const efficiencyOf = (part: readonly string[]) => {
    const ofDays = figures.filter(({ day }) => part.includes(day))
    return {
      ...toMetrics(all.filter(({ day }) => part.includes(day))),
      ...computeEfficiency({
        purchases: ofDays.reduce((sum, { purchases }) => sum + purchases, 0),
        revenue: addAmounts(amountsIn(ofDays, currency)),
        spendMinor: sumSpend([...spend.values()], part),
        currency,
      }),
    }
  }
  const input = { spend, delivery, days, previousDays, bought, currency, now }
  const campaigns = campaignFigures(history, input)
  const entities = entityFigures(history, input, breakdown)
  return {
    source: 'simulated',
    explanation: EXPLANATION,
    currency,
    total: efficiencyOf(days),
    previous_total: previousSince === null ? null : efficiencyOf(previousDays),
    days: days.map(day => ({ day, ...efficiencyOf([day]) })),
    campaigns: campaigns.slice(0, CAMPAIGNS_MAX),
    campaigns_omitted: Math.max(0, campaigns.length - CAMPAIGNS_MAX),
    entities: entities.slice(0, CAMPAIGNS_MAX),
    entities_omitted: Math.max(0, entities.length - CAMPAIGNS_MAX),
  }
}

const CAMPAIGNS_MAX = 50

const EXPLANATION =
  'Spend, impressions, clicks and frequency are simulated from the budgets that campaigns had on ' +
  'these UTC days; no platform reported them. Purchases and revenue are stored Purchase events, ' +
  'whether or not an ad led to them, in the currency of the ad account. known_purchases of a ' +
  'campaign are those whose page address has its ID in utm_id, utm_campaign or campaign_id; most ' +
  'purchases name no campaign, so a campaign without any is unknown, not worthless.'

function listDays(since: string, until: string): string[] {
  const days = []
  for (let day = since; day <= until; day = subtractDays(toDaySpan(day).from, -1)) days.push(day)
  return days
}

function dayBefore(day: string): string {
  return subtractDays(toDaySpan(day).from, 1)
}

interface AmountIn {
  currency: string | null
  amount: string | null
}

function amountsIn(figures: readonly AmountIn[], wanted: string): string[] {
  return figures.flatMap(({ currency, amount }) =>
    currency === wanted && amount !== null ? [amount] : [],
  )
}

function sumSpend(
  campaigns: readonly ReadonlyMap<string, number>[],
  days: readonly string[],
): number {
  return campaigns.reduce(
    (total, byDay) => days.reduce((sum, day) => sum + (byDay.get(day) ?? 0), total),
    0,
  )
}

interface CampaignInput {
  spend: CampaignSpend
  delivery: EntityDelivery
  days: readonly string[]
  previousDays: readonly string[]
  bought: Awaited<ReturnType<typeof findPurchasesByCampaign>>
  currency: string
  now: Date
}

function campaignFigures(
  history: AccountHistory,
  { spend, delivery, days, previousDays, bought, currency, now }: CampaignInput,
): SpendFigures['campaigns'] {
  const { entities, lifetimeBudgets, createdAt } = history
  const life = lifetimeBudgets.size === 0 ? [] : listDays(subtractDays(createdAt, 0), dayOf(now))
  const lifetimeSpend = simulateSpend(history, life, now)
  return entities
    .filter(({ type }) => type === 'campaign')
    .map(({ type, id, name, status, daily_budget_minor }) => {
      const byDay = spend.get(id) ?? new Map<string, number>()
      const ofCampaign = bought.filter(({ campaignId }) => campaignId === id)
      return {
        id,
        name,
        status,
        daily_budget_minor,
        ...lifetimeFigures(lifetimeBudgets.get(id), lifetimeSpend.get(id)),
        ...toMetrics(ofDays(delivery.get(deliveryKey({ type, id })), days)),
        spend_minor: sumSpend([byDay], days),
        previous_spend_minor: previousDays.length === 0 ? null : sumSpend([byDay], previousDays),
        known_purchases: ofCampaign.reduce((sum, { purchases }) => sum + purchases, 0),
        known_revenue: addAmounts(amountsIn(ofCampaign, currency)),
      }
    })
    .sort((a, b) => b.spend_minor - a.spend_minor || (a.id < b.id ? -1 : 1))
}

function lifetimeFigures(
  budget: number | undefined,
  spend: ReadonlyMap<string, number> = new Map(),
) {
  const spent = [...spend.values()].reduce((sum, minor) => sum + minor, 0)
  return {
    lifetime_budget_minor: budget ?? null,
    lifetime_spend_minor: budget === undefined ? null : spent,
  }
}

function dayOf(at: Date): string {
  return subtractDays(at, 0)
}

function ofDays(all: readonly DayDelivery[] = [], days: readonly string[]): DayDelivery[] {
  return all.filter(({ day }) => days.includes(day))
}

/** Undefined members select nothing. */
export interface Breakdown {
  type: EntityType | undefined
  id: string | undefined
  isByDay: boolean
}

/** The entities of a type, or one with everything of the type below it. */
function entityFigures(
  { entities, lifetimeBudgets }: AccountHistory,
  { delivery, days, previousDays }: CampaignInput,
  { type, id, isByDay }: Breakdown,
): SpendFigures['entities'] {
  if (type === undefined && id === undefined) return []
  const below = id === undefined ? null : collectBelow(entities, id)
  return entities
    .filter(entity => type === undefined || entity.type === type)
    .filter(entity => below === null || (type ? below.has(entity.id) : entity.id === id))
    .filter(entity => entity.type !== 'ad_account')
    .map(entity => {
      const all = delivery.get(deliveryKey(entity))
      const [current, previous] = [ofDays(all, days), ofDays(all, previousDays)]
      return {
        type: entity.type,
        id: entity.id,
        name: entity.name,
        parent_id: entity.parent_id,
        status: entity.status,
        daily_budget_minor: entity.daily_budget_minor,
        lifetime_budget_minor: lifetimeBudgets.get(entity.id) ?? null,
        spend_minor: sumSpendOf(current),
        previous_spend_minor: previousDays.length === 0 ? null : sumSpendOf(previous),
        ...toMetrics(current),
        previous: previousDays.length === 0 ? null : toMetrics(previous),
        days: isByDay
          ? current.map(one => ({ day: one.day, spend_minor: one.spendMinor, ...toMetrics([one]) }))
          : [],
      }
    })
    .sort((a, b) => b.spend_minor - a.spend_minor || (a.id < b.id ? -1 : 1))
}

function collectBelow(entities: AccountHistory['entities'], id: string): ReadonlySet<string> {
  const found = new Set([id])
  // Parents come first.
  for (const entity of entities) {
    if (entity.parent_id !== null && found.has(entity.parent_id)) found.add(entity.id)
  }
  return found
}

function sumSpendOf(days: readonly DayDelivery[]): number {
  return days.reduce((sum, { spendMinor }) => sum + spendMinor, 0)
}

/** Digits after the point in stored amounts. */
const AMOUNT_DIGITS = 6

/** Adds decimal amounts exactly: none of them becomes a binary fraction. */
export function addAmounts(amounts: readonly string[]): string {
  return formatAmount(amounts.reduce((sum, amount) => sum + parseAmount(amount), 0n))
}

function parseAmount(amount: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d*))?$/.exec(amount) ?? []
  return BigInt(sign + whole + fraction.padEnd(AMOUNT_DIGITS, '0').slice(0, AMOUNT_DIGITS))
}

function formatAmount(scaled: bigint): string {
  const sign = scaled < 0n ? '-' : ''
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(AMOUNT_DIGITS + 1, '0')
  const fraction = digits.slice(-AMOUNT_DIGITS).replace(/0+$/, '')
  return `${sign}${digits.slice(0, -AMOUNT_DIGITS)}${fraction === '' ? '' : `.${fraction}`}`
}

interface EfficiencyInput {
  purchases: number
  /** Decimal text in the currency of the ad account. */
  revenue: string
  spendMinor: number
  currency: string
}

/** What purchases cost and what the spend returned; null where nothing was bought or spent. */
export function computeEfficiency(input: EfficiencyInput): Omit<Efficiency, keyof AdMetrics> {
  const { purchases, revenue, spendMinor } = input
  return {
    purchases,
    revenue,
    spend_minor: spendMinor,
    cost_per_purchase_minor: purchases === 0 ? null : Math.round(spendMinor / purchases),
    roas: spendMinor === 0 ? null : returnOnSpend(input),
  }
}

/** Revenue divided by spend as decimal text with two digits, rounded half up. */
function returnOnSpend({ revenue, spendMinor, currency }: EfficiencyInput): string {
  const scale = 10n ** BigInt(AMOUNT_DIGITS - minorUnitDigits(currency))
  const spend = BigInt(spendMinor) * scale
  const hundredths = (parseAmount(revenue) * 200n + spend) / (2n * spend)
  return (Number(hundredths) / 100).toFixed(2)
}
