/** A number of a request with the digits that were sent: 19.90 stays 19.90. */
export class JsonNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return (JSON as unknown as RawJson).rawJSON(this.text)
  }
}

/** `JSON.rawJSON` and the source of a value are in Node 24 and not yet in TypeScript's library. */
interface RawJson {
  rawJSON(text: string): unknown
}

type Reviver = (key: string, value: unknown, context: { source: string }) => unknown

const keepDigits: Reviver = (_key, value, { source }) =>
  typeof value === 'number' ? new JsonNumber(source) : value

/** Parses JSON with every number as a `JsonNumber`. Undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown)
  } catch {
    // The parser's message quotes the text, which may contain personal data.
    return undefined
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof JsonNumber)
  )
}
