import type { Efficiency } from '@signalbox/contract/agents/account.ts'
import { minorUnitDigits } from '../policy/format-amount.ts'

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
