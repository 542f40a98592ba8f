type ExactReviver = (key: string, value: unknown, context: { source?: string }) => unknown

/**
 * Reads JSON with every number as the text that stood there: 29.30 stays "29.30", and no amount
 * passes through binary floating point.
 */
export function parseExactly(text: string): unknown {
  const exactly: ExactReviver = (_key, value, { source }) =>
    typeof value === 'number' ? source : value
  // The third argument is in Node 24 and not yet in TypeScript's library.
  return JSON.parse(text, exactly as (key: string, value: unknown) => unknown)
}
