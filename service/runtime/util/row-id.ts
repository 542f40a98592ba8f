const INTEGER_MAX = 2_147_483_647

/** Reads the ID of a row, such as one in a path. Returns null for anything that cannot be one. */
export function parseRowId(given: unknown): number | null {
  const text = String(given)
  if (!/^[1-9]\d{0,9}$/.test(text)) return null
  const id = Number(text)
  return id <= INTEGER_MAX ? id : null
}
