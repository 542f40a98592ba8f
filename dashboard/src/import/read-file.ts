import type { TextLine } from '@signalbox/cli/src/import/read-csv.ts'

/** A file that a person chose. It stays in the browser: only its rows are sent, as events. */
export interface ChosenFile {
  name: string
  /** SHA-256 as hexadecimal digits; the IDs of rows without one come from it. */
  digest: string
  lineCount: number
  lines: () => AsyncGenerator<TextLine>
}

const FILE_BYTES_MAX = 64 * 1_048_576
const LINE_BYTES_MAX = 1_048_576
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
    lines: () => readLines(bytes),
  }
}

async function* readLines(bytes: Uint8Array): AsyncGenerator<TextLine> {
  let from = 0
  for (let number = 1; from < bytes.length; number += 1) {
    const found = bytes.indexOf(LINE_FEED, from)
    const until = found === -1 ? bytes.length : found
    yield decodeLine(bytes.subarray(from, until), number)
    from = until + 1
  }
}

/** Null with its reason for a line that is too long or no UTF-8. */
function decodeLine(bytes: Uint8Array, number: number): TextLine {
  if (bytes.length > LINE_BYTES_MAX) {
    return { number, text: null, problem: 'The line is longer than 1 MiB.' }
  }
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: number !== 1 })
    return { number, text: decoder.decode(bytes).replace(/\r$/, ''), problem: '' }
  } catch {
    return { number, text: null, problem: 'The line is not UTF-8.' }
  }
}
