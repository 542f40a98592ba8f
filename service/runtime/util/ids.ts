import { randomUUID } from 'node:crypto'

const INTEGER_MAX = 2_147_483_647

/** Reads the ID of a row, such as one in a path. Returns null for anything that cannot be one. */
export function parseRowId(given: unknown): number | null {
  const text = String(given)
  if (!/^[1-9]\d{0,9}$/.test(text)) return null
  const id = Number(text)
  return id <= INTEGER_MAX ? id : null
}

/** Sorts before every other UUID. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

/** A UUID of version 7 (RFC 9562), which sorts by time. */
export function generateUuidV7(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** In either case; ours are stored in lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}
