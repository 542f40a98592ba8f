/** `2026-11-21 12:00:05`, in UTC; the title of the column or the line says so. */
export function formatTime(time: string | null | undefined): string {
  const date = new Date(time ?? '')
  if (Number.isNaN(date.getTime())) return time ?? '-'
  return date.toISOString().slice(0, 19).replace('T', ' ')
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** `3 minutes ago` or `in 2 hours`. */
export function formatAge(time: string, now: Date): string {
  const seconds = Math.round((now.getTime() - Date.parse(time)) / 1_000)
  const size = Math.abs(seconds)
  const [unit, length] = UNITS.find(([, length]) => size >= length) ?? ['second', 1]
  const count = Math.floor(size / length)
  const words = countOf(count, unit)
  if (Number.isNaN(seconds)) return ''
  return seconds >= 0 ? `${words} ago` : `in ${words}`
}

/** `1 line`, `6,919 lines`. */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

/** Yesterday in UTC: the last day that a platform has counted to its end. */
export function yesterday(now: Date): string {
  return new Date(now.getTime() - 86_400_000).toISOString().slice(0, 10)
}
