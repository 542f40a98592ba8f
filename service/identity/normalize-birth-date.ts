const YEAR_FIRST = /^(\d{4})([-/. ]?)(\d{2})\2(\d{2})$/
const YEAR_FIRST_SHORT = /^(\d{4})([-/. ])(\d{1,2})\2(\d{1,2})$/
const YEAR_LAST = /^(\d{1,2})([-/. ])(\d{1,2})\2(\d{4})$/

/**
 * Meta's rule for `db` (Customer Information Parameters): YYYYMMDD, year 1900 or later. Accepts
 * year-first and year-last dates with - / . or a space. In a year-last date the day is told from
 * the month only when one of them is above 12 or both are equal; otherwise the date is dropped.
 */
export function normalizeBirthDate(prepared: string): string | null {
  const yearFirst = YEAR_FIRST.exec(prepared) ?? YEAR_FIRST_SHORT.exec(prepared)
  if (yearFirst) return calendarDate(yearFirst[1], yearFirst[3], yearFirst[4])
  const yearLast = YEAR_LAST.exec(prepared)
  if (!yearLast) return null
  const [, first, , second, year] = yearLast
  const monthFirst = calendarDate(year, first, second)
  const dayFirst = calendarDate(year, second, first)
  if (monthFirst !== null && dayFirst !== null && monthFirst !== dayFirst) return null
  return monthFirst ?? dayFirst
}

function calendarDate(year = '', month = '', day = ''): string | null {
  const [y, m, d] = [Number(year), Number(month), Number(day)]
  if (y < 1900 || y > 2099) return null
  const date = new Date(Date.UTC(y, m - 1, d))
  // Date.UTC rolls 31 February over into March; a date that moved was never on a calendar.
  if (date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return null
  return `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`
}
