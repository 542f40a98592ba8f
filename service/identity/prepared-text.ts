/**
 * The first step of every identifier rule: NFC, then trimmed, then lower case. Without NFC a
 * decomposed "José" gives another digest than the same name typed on another keyboard.
 */
export function preparedText(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}
