const MINUTE_SECONDS = 60
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

const FORMS = /^(?:\*\/(?<minutes>\d+) \*|(?<minute>\d+) (?<hour>\*|\d+)) \* \* \*$/

/**
 * The seconds between two runs of a schedule. Schedules are crontab lines, in UTC and in one of
 * three forms: every so many minutes that divide an hour, hourly (`7 * * * *`), daily
 * (`10 3 * * *` is 03:10). None is rarer, so that a run that was missed is one of the last day.
 * Throws a RangeError on any other form.
 */
export function periodSecondsOf(schedule: string): number {
  const { minutes, minute, hour } = FORMS.exec(schedule)?.groups ?? {}
  if (minutes !== undefined && Number(minutes) >= 1 && 60 % Number(minutes) === 0) {
    return Number(minutes) * MINUTE_SECONDS
  }
  if (minute !== undefined && Number(minute) < 60) {
    if (hour === '*') return HOUR_SECONDS
    if (Number(hour) < 24) return DAY_SECONDS
  }
  throw new RangeError(`a job cannot run at ${JSON.stringify(schedule)}`)
}
