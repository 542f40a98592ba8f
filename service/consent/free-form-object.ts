/** A free-form object of the wire. Its member names and values are the caller's: trust neither. */
export type FreeFormObject = Readonly<Record<string, unknown>>

/** True for a JSON object; lists and null are not objects here. */
export function isFreeFormObject(value: unknown): value is FreeFormObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
