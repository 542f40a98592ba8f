const MARK = '@@number:'

/** Stands for a number that JavaScript cannot hold, or would write in another way. */
export function rawNumber(digits: string): string {
  return `${MARK}${digits}@@`
}

/** JSON text in which each `rawNumber` stands as the number that it names. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.replaceAll(/"@@number:([^"@]*)@@"/g, '$1')
}
