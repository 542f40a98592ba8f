/**
 * A cell: numbers stay numbers for a spreadsheet, null is an empty cell. `json` is written as JSON,
 * for nested values and for decimals with all their digits (`decimalToken`).
 */
export type CsvCell = string | number | { json: object | number | boolean } | null

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
  const text = typeof cell === 'object' ? JSON.stringify(cell.json) : escapeFormula(cell)
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The text, behind an apostrophe if a spreadsheet could run it. */
export function escapeFormula(text: string): string {
  return MAY_BE_FORMULA.test(text) ? `'${text}` : text
}
