import type { Efficiency, Performance } from '@signalbox/contract/agents/account.ts'
import type { Database } from '../../runtime/db/database.ts'
import { subtractDays, toDaySpan } from '../../runtime/util/time.ts'
import { minorUnitDigits } from '../policy/account-formats.ts'
import { findAccountHistory, findPurchasesByCampaign } from './campaign-store.ts'
import { sumPurchasesByDay } from './performance-store.ts'
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
}

/**
 * The simulated spend of the ad account beside the purchases that we stored: in total, for the
 * period before, by day and by campaign. Refunds are events of their own and are not subtracted.
 */
export async function readSpendFigures(
  database: Database,
  { account, trackerIds, span, previousSince, now }: SpendQuery,
): Promise<SpendFigures> {
  const { adAccountId, currency } = account
  const first = toDaySpan(previousSince ?? span.since).from
  const history = await findAccountHistory(database, adAccountId, first)
  const figures = await sumPurchasesByDay(database, trackerIds, first)
  const bought = await findPurchasesByCampaign(database, trackerIds, toDaySpan(span.since).from)
  const days = listDays(span.since, span.until)
  const previousDays = previousSince === null ? [] : listDays(previousSince, dayBefore(span.since))
  const spend = simulateSpend(history, [...previousDays, ...days], now)
  const efficiencyOf = (part: readonly string[]) => {
    const ofDays = figures.filter(({ day }) => part.includes(day))
    return computeEfficiency({
      purchases: ofDays.reduce((sum, { purchases }) => sum + purchases, 0),
      revenue: addAmounts(amountsIn(ofDays, currency)),
      spendMinor: sumSpend([...spend.values()], part),
      currency,
    })
  }
  const campaigns = campaignFigures(history, { spend, days, previousDays, bought, currency })
  return {
    source: 'simulated',
    explanation: EXPLANATION,
    currency,
    total: efficiencyOf(days),
    previous_total: previousSince === null ? null : efficiencyOf(previousDays),
    days: days.map(day => ({ day, ...efficiencyOf([day]) })),
    campaigns: campaigns.slice(0, CAMPAIGNS_MAX),
    campaigns_omitted: Math.max(0, campaigns.length - CAMPAIGNS_MAX),
  }
}

const CAMPAIGNS_MAX = 50

const EXPLANATION =
  'Spend is simulated from the daily budgets that campaigns had on these UTC days; no platform ' +
  'reported it. Purchases and revenue are stored Purchase events, whether or not an ad led to ' +
  'them, in the currency of the ad account. known_purchases of a campaign are those whose page ' +
  'address has its ID in utm_id, utm_campaign or campaign_id; most purchases name no ' +
  'campaign, so a campaign without any is unknown, not worthless.'

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
  days: readonly string[]
  previousDays: readonly string[]
  bought: Awaited<ReturnType<typeof findPurchasesByCampaign>>
  currency: string
}

function campaignFigures(
  { entities }: AccountHistory,
  { spend, days, previousDays, bought, currency }: CampaignInput,
): SpendFigures['campaigns'] {
  return entities
    .filter(({ type }) => type === 'campaign')
    .map(({ id, name, status, daily_budget_minor }) => {
      const byDay = spend.get(id) ?? new Map<string, number>()
      const ofCampaign = bought.filter(({ campaignId }) => campaignId === id)
      return {
        id,
        name,
        status,
        daily_budget_minor,
        spend_minor: sumSpend([byDay], days),
        previous_spend_minor: previousDays.length === 0 ? null : sumSpend([byDay], previousDays),
        known_purchases: ofCampaign.reduce((sum, { purchases }) => sum + purchases, 0),
        known_revenue: addAmounts(amountsIn(ofCampaign, currency)),
      }
    })
    .sort((a, b) => b.spend_minor - a.spend_minor || (a.id < b.id ? -1 : 1))
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
export function computeEfficiency(input: EfficiencyInput): Efficiency {
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
