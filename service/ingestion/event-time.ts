const DAY = String.raw`(\d{4})-(\d{2})-(\d{2})`
const TIME = String.raw`\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?`
const OFFSET = String.raw`(?:Z|[+-]\d{2}:?\d{2})`
const ISO_8601 = new RegExp(`^${DAY}T${TIME}${OFFSET}$`)

const FUTURE_SECONDS_MAX = 300
/** Seconds of the year 5138; what is larger was counted in milliseconds. */
const UNIX_SECONDS_MAX = 100_000_000_000

export type ParsedEventTime = { at: Date } | { fault: string }

/**
 * Reads `event_time`: Unix seconds, or ISO 8601 with an offset (spec: Event). Without one, the
 * time of receipt. Up to five minutes ahead is a clock that runs fast; more is a mistake.
 */
export function parseEventTime(
  value: number | string | undefined,
  receivedAt: Date,
): ParsedEventTime {
  if (value === undefined) return { at: receivedAt }
  const time = typeof value === 'number' ? parseUnixSeconds(value) : parseIso8601(value)
  if ('fault' in time) return time
  if (time.at.getTime() > receivedAt.getTime() + FUTURE_SECONDS_MAX * 1_000) {
    return { fault: 'The event_time field must not be more than 5 minutes in the future.' }
  }
  return time
}

function parseUnixSeconds(seconds: number): ParsedEventTime {
  if (seconds >= UNIX_SECONDS_MAX) {
    return { fault: 'The event_time field looks like milliseconds; send Unix seconds.' }
  }
  if (seconds < 0) return { fault: 'The event_time field must not be before 1970.' }
  return { at: new Date(seconds * 1_000) }
}

function parseIso8601(text: string): ParsedEventTime {
  const match = ISO_8601.exec(text)
  const at = match ? new Date(normalizeIso8601(text)) : null
  if (!match || !at || Number.isNaN(at.getTime()) || !isCalendarDay(match)) {
    return {
      fault:
        'The event_time field must be Unix seconds or ISO 8601 with an offset, ' +
        'such as 2026-11-21T10:00:00Z.',
    }
  }
  if (at.getUTCFullYear() < 1970) {
    return { fault: 'The event_time field must not be before 1970.' }
  }
  return { at }
}

/** Date reads one spelling of the offset and of the fraction. */
function normalizeIso8601(text: string): string {
  return text.replace(',', '.').replace(/([+-]\d{2})(\d{2})$/, '$1:$2')
}

/** Date rolls 30 February over to March; a caller who sends it made a mistake. */
function isCalendarDay([, year, month, day]: RegExpExecArray): boolean {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}
