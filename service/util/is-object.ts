/** A free-form object of the wire. Its member names and values are the caller's: trust neither. */
export type UntrustedObject = Readonly<Record<string, unknown>>

/** True for a JSON object; lists and null are not objects here. */
export function isObject(value: unknown): value is UntrustedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export type JsonObject = Record<string, unknown>

/** The object that the text is; null when it is something else, or no JSON. */
export function parseJsonObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The value itself if it is an object; otherwise one without members. */
export function objectOrEmpty(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}
