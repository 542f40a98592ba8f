import { CursorQuery } from '@signalbox/contract/session/session-operation.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { Validator } from '../runtime/http/validator.ts'

/** Rows of one page of a list in the dashboard. */
export const PAGE_ROWS = 50

/** The position after the last row of a page, as an opaque text for `?cursor=`. */
export function encodeCursor(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

const INVALID_CURSOR = 'The cursor field must be a next_cursor of this list.'
const cursorValidator = new Validator(CursorQuery, {
  members: { cursor: { error: INVALID_CURSOR } },
})

/**
 * Reads `cursor` from a query; null for the first page. `parse` returns null for texts that are no
 * position of this list. Throws a 422 refusal for a cursor that this service did not make.
 */
export function readCursor<Position>(
  query: unknown,
  parse: (position: readonly string[]) => Position | null,
): Position | null {
  const { cursor } = cursorValidator.validate(query)
  if (cursor === undefined) return null
  const position = decodeCursor(cursor)
  const parsed = position && parse(position)
  if (parsed) return parsed
  throw Refusal.ofFields({ cursor: [INVALID_CURSOR] })
}

function decodeCursor(cursor: string): string[] | null {
  try {
    const decoded: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const isPosition = Array.isArray(decoded) && decoded.every(part => typeof part === 'string')
    return isPosition ? decoded : null
  } catch {
    return null
  }
}
