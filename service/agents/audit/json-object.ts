export type JsonObject = Record<string, unknown>

/** The object that the text is; null when it is something else, or no JSON. */
export function jsonObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The value itself if it is an object; otherwise one without members. */
export function objectOrNone(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
