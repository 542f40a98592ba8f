const REPLACEMENT = '\uFFFD'

/** A text of the platform's as the store can take it: without NUL and without half a character. */
export function readableText(text: string): string {
  return text.replaceAll('\0', REPLACEMENT).toWellFormed()
}
