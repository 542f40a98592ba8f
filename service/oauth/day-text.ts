/** A day as a person reads it, in UTC, so that it is the same for all who look at it. */
export function dayText(moment: Date): string {
  return FORMAT.format(moment)
}

const FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
