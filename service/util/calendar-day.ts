const DAY_MILLISECONDS = 86_400_000

/** True for a day of the calendar as YYYY-MM-DD; PostgreSQL knows no year 0. */
export function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  // A date that does not exist rolls over in JavaScript.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** The UTC day as a span: `from` belongs to it, `until` does not. */
export function toDaySpan(day: string): { from: Date; until: Date } {
  return { from: addHoursToDay(day, 0), until: addHoursToDay(day, 24) }
}

/** So many hours after the UTC day began. */
export function addHoursToDay(day: string, hours: number): Date {
  return new Date(Date.parse(`${day}T00:00:00Z`) + hours * 3_600_000)
}

/** The UTC day so many days before the one of `moment`. */
export function subtractDays(moment: Date, days: number): string {
  return new Date(moment.getTime() - days * DAY_MILLISECONDS).toISOString().slice(0, 10)
}
