import type { FieldContext } from './field-rules.ts'

/** The postal codes of these countries are ZIP codes of the United States. */
const ZIP_COUNTRIES = new Set(['us', 'pr', 'gu', 'vi', 'as', 'mp', 'um', 'fm', 'mh', 'pw'])
const ZIP_DIGITS = 5
const ZIP_EXTENSION_DIGITS = 4

/**
 * Only the United States has nine digits, so ZIP+4 is known even when the country is not. A ZIP
 * code that was once a number has lost its zeros: 2134 is 02134 (Boston), and 601 is 00601.
 */
export function normalizePostalCode(prepared: string, { country }: FieldContext): string | null {
  const code = prepared.replace(/[^\p{L}\p{N}]+/gu, '')
  if (code.length < 2) return null
  if (country === null) return /^\d{9}$/.test(code) ? code.slice(0, ZIP_DIGITS) : code
  return ZIP_COUNTRIES.has(country) ? restoreZip(code) : code
}

function restoreZip(code: string): string {
  if (!/^\d{3,5}(?:\d{4})?$/.test(code)) return code.slice(0, ZIP_DIGITS)
  const zip = code.length > ZIP_DIGITS ? code.slice(0, -ZIP_EXTENSION_DIGITS) : code
  return zip.padStart(ZIP_DIGITS, '0')
}
