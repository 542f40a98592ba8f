/** A cell: numbers stay numbers for a spreadsheet, null is an empty cell. */
export type CsvCell = string | number | null

const NEEDS_QUOTES = /["\r\n,]/

/**
 * What a spreadsheet could run as a formula (OWASP, "CSV Injection"). Event names and targets come
 * from outside.
 */
const MAY_BE_FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/

/** One line for each row (RFC 4180). Texts that could be formulas begin with an apostrophe. */
export function formatCsv(rows: Iterable<readonly CsvCell[]>): string {
  let text = ''
  for (const row of rows) text += `${row.map(formatCell).join(',')}\r\n`
  return text
}

function formatCell(cell: CsvCell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  const text = MAY_BE_FORMULA.test(cell) ? `'${cell}` : cell
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
