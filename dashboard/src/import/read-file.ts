import { readLines, type TextLine } from '@signalbox/cli/src/import/text-lines.ts'

/** A file that a person chose. It stays in the browser: only its rows are sent, as events. */
export interface ChosenFile {
  name: string
  /** SHA-256 as hexadecimal digits; the IDs of rows without one come from it. */
  digest: string
  lineCount: number
  lines: () => AsyncGenerator<TextLine>
}

const FILE_BYTES_MAX = 64 * 1_048_576
const LINE_FEED = 0x0a

/** Throws for a file that is too large to be held in memory. */
export async function openFile(file: File): Promise<ChosenFile> {
  if (file.size > FILE_BYTES_MAX) {
    throw new Error('The file has more than 64 MiB: split it, or use the command line.')
  }
  const bytes = new Uint8Array(await file.arrayBuffer())
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return {
    name: file.name,
    digest: Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join(''),
    lineCount: bytes.reduce((count, byte) => (byte === LINE_FEED ? count + 1 : count), 0),
    lines: () => readLines([bytes]),
  }
}
