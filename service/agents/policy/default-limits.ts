import { minorUnitDigits } from '@signalbox/contract/agents/amounts.ts'
import type { CurrencyLimits, PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import { NO_AMOUNT_LIMITS } from './money-limits.ts'

/**
 * The default limit per week, in major units; that per month is twice as much. Round amounts that
 * are worth roughly 500 euros, so that a workspace in yen is not limited to three euros.
 */
const WEEKLY_TOTALS: Readonly<Record<string, number>> = {
  AED: 2_000,
  ARS: 500_000,
  BDT: 50_000,
  BGN: 1_000,
  BHD: 200,
  BRL: 2_500,
  CLP: 500_000,
  CNY: 4_000,
  COP: 2_000_000,
  CRC: 250_000,
  CZK: 10_000,
  DKK: 4_000,
  EGP: 25_000,
  HKD: 4_000,
  HUF: 200_000,
  IDR: 8_000_000,
  ILS: 2_000,
  INR: 50_000,
  ISK: 70_000,
  JOD: 400,
  JPY: 50_000,
  KES: 50_000,
  KRW: 500_000,
  KWD: 150,
  LKR: 150_000,
  MAD: 5_000,
  MXN: 10_000,
  MYR: 2_500,
  NGN: 500_000,
  NOK: 5_000,
  OMR: 200,
  PEN: 2_000,
  PHP: 25_000,
  PKR: 150_000,
  PLN: 2_000,
  QAR: 2_000,
  RON: 2_500,
  RSD: 50_000,
  SAR: 2_000,
  SEK: 5_000,
  THB: 20_000,
  TND: 1_500,
  TRY: 20_000,
  TWD: 15_000,
  UAH: 20_000,
  UYU: 20_000,
  VND: 10_000_000,
  ZAR: 10_000,
}

/** For the euro, the dollar, the pound, the franc and every other currency. */
const WEEKLY_TOTAL = 500
const MONTHLY_FACTOR = 2

type Totals = Pick<PolicyLimits, 'weekly_total_minor_max' | 'monthly_total_minor_max'>

/** The default limits of a week and a month in one currency, in its minor units. */
export function defaultTotals(currency: string): Totals {
  const major = WEEKLY_TOTALS[currency] ?? WEEKLY_TOTAL
  const weekly = major * 10 ** minorUnitDigits(currency)
  return { weekly_total_minor_max: weekly, monthly_total_minor_max: weekly * MONTHLY_FACTOR }
}

/** Null if the general defaults are those of the currency. */
export function defaultCurrencyLimits(currency: string): CurrencyLimits | null {
  const totals = defaultTotals(currency)
  const general = defaultTotals('EUR')
  return totals.weekly_total_minor_max === general.weekly_total_minor_max
    ? null
    : { currency, ...NO_AMOUNT_LIMITS, ...totals }
}
