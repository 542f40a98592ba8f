/** Rows as RFC 4180 has them. Null and undefined are empty cells. */
export function formatCsv(rows: readonly (readonly unknown[])[]): string {
  return rows.map(row => `${row.map(formatCell).join(',')}\r\n`).join('')
}

/** A spreadsheet would run it, and an event of a page can have any name. */
const FORMULA = /^[=+\-@\t\r]/
const NUMBER = /^[+-]?\d+(\.\d+)?$/

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
