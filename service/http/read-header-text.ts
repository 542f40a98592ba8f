import { isUtf8 } from 'node:buffer'

/**
 * The text of a header's value. Node gives one character a byte; bytes that are UTF-8 are read as
 * such, all others stay as they came.
 */
export function readHeaderText(value: string): string {
  if (/^[\0-\x7f]*$/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}
