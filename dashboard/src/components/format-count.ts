const NUMBER = new Intl.NumberFormat('en')

/** For example "16,532". */
export function formatNumber(count: number): string {
  return NUMBER.format(count)
}

const MONEY_DIGITS = 2

/** For example "1,234.50 EUR". */
export function formatMoney(value: { amount: string; currency: string | null }): string {
  return `${formatDecimal(value.amount)} ${value.currency ?? ''}`.trim()
}

/** For example "1,234.50". The amount is exact decimal text: Number would round large sums. */
export function formatDecimal(amount: string): string {
  const [whole = '0', fraction = ''] = amount.split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return `${grouped}.${fraction.replace(/0+$/, '').padEnd(MONEY_DIGITS, '0')}`
}

/** For example "1 event" or "16,532 events". */
export function formatCount(count: number, noun: string): string {
  return `${NUMBER.format(count)} ${noun}${count === 1 ? '' : 's'}`
}
