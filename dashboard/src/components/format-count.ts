const NUMBER = new Intl.NumberFormat('en')

/** For example "16,532". */
export function formatNumber(count: number): string {
  return NUMBER.format(count)
}

/** For example "1 event" or "16,532 events". */
export function formatCount(count: number, noun: string): string {
  return `${NUMBER.format(count)} ${noun}${count === 1 ? '' : 's'}`
}
