/** A line of a file, from 1. */
export interface TextLine {
  number: number
  /** Null when it cannot be read; `problem` says why. */
  text: string | null
  problem: string
}

const LINE_BYTES_MAX = 1_048_576
const LINE_FEED = 0x0a

/**
 * The lines of a file, which comes in pieces. One that is too long or no UTF-8 is a problem of its
 * own. It uses nothing of Node.js: the dashboard reads files with it, too.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<TextLine> {
  let number = 0
  let parts: Uint8Array[] = []
  let bytes = 0
  const finish = (): TextLine => {
    number += 1
    const line =
      bytes > LINE_BYTES_MAX
        ? { number, text: null, problem: 'The line is longer than 1 MiB.' }
        : decodeLine(parts, number)
    parts = []
    bytes = 0
    return line
  }
  const add = (part: Uint8Array) => {
    bytes += part.length
    if (bytes <= LINE_BYTES_MAX) parts.push(part)
    else parts = []
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      add(chunk.subarray(from, at))
      from = at + 1
      yield finish()
    }
    add(chunk.subarray(from))
  }
  if (bytes > 0) yield finish()
}

/** A byte order mark is left out of the first line only. */
function decodeLine(parts: readonly Uint8Array[], number: number): TextLine {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: number !== 1 })
  try {
    const text = parts.map(part => decoder.decode(part, { stream: true })).join('')
    return { number, text: (text + decoder.decode()).replace(/\r$/, ''), problem: '' }
  } catch {
    return { number, text: null, problem: 'The line is not UTF-8.' }
  }
}
