import { escapeFormula } from '../../../../service/runtime/util/csv.ts'

/** Rows as RFC 4180 has them. Null and undefined are empty cells. */
export function formatCsv(rows: readonly (readonly unknown[])[]): string {
  return rows.map(row => `${row.map(formatCell).join(',')}\r\n`).join('')
}

/** Negative amounts stay numbers. */
const NUMBER = /^[+-]?\d+(\.\d+)?$/

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const safe = NUMBER.test(text) ? text : escapeFormula(text)
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
