/** The zone in which pages show times. */
export type TimeZone = 'local' | 'utc'

/** ISO 8601 -> the value of an `<input type="datetime-local">` in the zone that pages show. */
export function toInputTime(time: string | undefined, zone: TimeZone): string {
  const moment = new Date(time ?? Number.NaN)
  if (Number.isNaN(moment.getTime())) return ''
  const offset = zone === 'utc' ? 0 : moment.getTimezoneOffset()
  return new Date(moment.getTime() - offset * 60_000).toISOString().slice(0, 16)
}

/** The same backwards; empty while the input is not complete. */
export function fromInputTime(value: string, zone: TimeZone): string {
  const moment = new Date(zone === 'utc' ? `${value}Z` : value)
  return Number.isNaN(moment.getTime()) ? '' : moment.toISOString()
}
