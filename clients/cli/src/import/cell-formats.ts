import { createUsageError } from '../cli-error.ts'

export const DECIMAL_MARKS = ['point', 'comma'] as const
export type DecimalMark = (typeof DECIMAL_MARKS)[number]

/** The order of day, month and year. */
export const DATE_ORDERS = ['ymd', 'dmy', 'mdy'] as const
export type DateOrder = (typeof DATE_ORDERS)[number]

/** How the cells of a file are written. Without one, cells are taken as the API takes them. */
export interface CellFormats {
  decimal?: DecimalMark | undefined
  dates?: DateOrder | undefined
  /** Of times without an offset, such as Europe/Berlin; UTC by default. */
  timeZone?: string | undefined
}

const AMOUNTS = new Set(['value_data.value', 'value_data.predicted_ltv', 'value_data.net_revenue'])
const TIMES = new Set(['event_time', 'consent.captured_at'])

/**
 * A cell as the API takes it. A text in another form stays as it is, so that the API refuses it and
 * names it: a value is never guessed. Throws a CliError for a time that does not exist.
 */
export function readCell(member: string, text: string, formats: CellFormats): string {
  if (AMOUNTS.has(member) && formats.decimal) return readAmount(text, formats.decimal)
  if (TIMES.has(member) && (formats.dates || formats.timeZone)) return readTime(text, formats)
  return text
}

/** With a mark for thousands or without one; three digits follow each. */
const AMOUNT_FORMS: Record<DecimalMark, RegExp> = {
  point: /^(-?)(\d{1,3}(?:[,' \u00a0\u2009\u202f]\d{3})+|\d+)(?:\.(\d+))?$/,
  comma: /^(-?)(\d{1,3}(?:[.' \u00a0\u2009\u202f]\d{3})+|\d+)(?:,(\d+))?$/,
}

function readAmount(text: string, decimal: DecimalMark): string {
  const found = AMOUNT_FORMS[decimal].exec(text)
  if (!found) return text
  const [, sign = '', whole = '', fraction] = found
  const digits = whole.replaceAll(/\D/g, '')
  return `${sign}${digits}${fraction === undefined ? '' : `.${fraction}`}`
}

const CLOCK = '(?:[T ,]+(\\d{1,2}):(\\d{2})(?::(\\d{2})(?:\\.\\d+)?)?)?'
const DATE_FORMS: Record<DateOrder, RegExp> = {
  ymd: new RegExp(`^(?<y>\\d{4})[-/.](?<m>\\d{1,2})[-/.](?<d>\\d{1,2})${CLOCK}$`),
  dmy: new RegExp(`^(?<d>\\d{1,2})[-/.](?<m>\\d{1,2})[-/.](?<y>\\d{4})${CLOCK}$`),
  mdy: new RegExp(`^(?<m>\\d{1,2})[-/.](?<d>\\d{1,2})[-/.](?<y>\\d{4})${CLOCK}$`),
}
const FRACTION_PLACES = 4

/** A time with an offset, Unix seconds and any other text stay as they are. */
function readTime(text: string, { dates = 'ymd', timeZone = 'UTC' }: CellFormats): string {
  const found = DATE_FORMS[dates].exec(text)
  if (!found?.groups) return text
  const { y = '', m = '', d = '' } = found.groups
  const [hour = '0', minute = '0', second = '0'] = found.slice(FRACTION_PLACES)
  const wall = Date.UTC(
    Number(y),
    Number(m) - 1,
    Number(d),
    Number(hour),
    Number(minute),
    Number(second),
  )
  const isCalendarTime =
    new Date(wall).getUTCMonth() === Number(m) - 1 &&
    new Date(wall).getUTCDate() === Number(d) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60
  if (!isCalendarTime) throw createUsageError('A cell with a time has no such day or time.')
  return new Date(toUtc(wall, timeZone)).toISOString()
}

/**
 * The moment at which clocks of a zone show a time. When they show it twice, at the end of summer
 * time, the first one counts. Throws for a time that they skip.
 */
function toUtc(wall: number, timeZone: string): number {
  const clock = clockOf(timeZone)
  const day = 86_400_000
  const offsets = [clock(wall - day) - (wall - day), clock(wall + day) - (wall + day)]
  const moments = offsets.map(offset => wall - offset).filter(moment => clock(moment) === wall)
  if (moments.length > 0) return Math.min(...moments)
  throw createUsageError(`A cell has a time that clocks skip in ${timeZone}.`)
}

const clocks = new Map<string, (moment: number) => number>()

/** What a clock of the zone shows, as if it were UTC. */
function clockOf(timeZone: string): (moment: number) => number {
  const known = clocks.get(timeZone)
  if (known) return known
  const format = createFormat(timeZone)
  const clock = (moment: number) => {
    const part = Object.fromEntries(
      format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]),
    )
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
    return Date.UTC(year, month - 1, day, hour, minute, second)
  }
  clocks.set(timeZone, clock)
  return clock
}

function createFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    throw createUsageError(`There is no time zone ${JSON.stringify(timeZone)}.`)
  }
}

/** Throws a CliError for a name that is no time zone. */
export function assertTimeZone(timeZone: string): string {
  clockOf(timeZone)
  return timeZone
}
