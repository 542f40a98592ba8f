/** A free-form object from a caller: trust neither its names nor its values. */
export type UntrustedObject = Readonly<Record<string, unknown>>

/** True for a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is UntrustedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export type JsonObject = Record<string, unknown>

/** Parses a JSON object; null when the text is anything else. */
export function parseJsonObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Sets a member of any name: an assignment to `__proto__` changes the prototype instead. */
export function defineMember(members: JsonObject, name: string, value: unknown): void {
  const flags = { enumerable: true, writable: true, configurable: true }
  Object.defineProperty(members, name, { value, ...flags })
}

/** The same members without those that are null. */
export function omitNull(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

/** Returns the value if it is an object, otherwise an empty one. */
export function objectOrEmpty(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}
