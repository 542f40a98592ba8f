import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { CliError, createUsageError } from '../cli-error.ts'
import type { CliHost } from '../host.ts'
import type { TextLine } from './read-csv.ts'

/** A file that is read twice: for its digest, and for its lines. */
export interface Source {
  /** As it is named in messages. */
  name: string
  /** SHA-256 of everything in it, as 64 hexadecimal digits. */
  digest: string
  /** Line breaks in it, for the progress. */
  lineCount: number
  read: () => AsyncIterable<Buffer>
  /** Throws when the file is no longer what was digested. */
  verify: () => Promise<void>
}

/** Standard input is held in memory, because its digest comes before its first line. */
const INPUT_BYTES_MAX = 64 * 1_048_576

export async function openSource(path: string, { stdin }: CliHost): Promise<Source> {
  if (path === '-') return bufferSource('standard input', stdin)
  const before = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw createUsageError(`${path} cannot be read (${error.code}).`)
  })
  if (before.isDirectory()) throw createUsageError(`${path} is a folder.`)
  // A named pipe can be read once.
  if (!before.isFile()) return bufferSource(path, createReadStream(path))
  const read = () => createReadStream(path)
  return {
    name: path,
    ...(await digest(read())),
    read,
    verify: async () => {
      const after = await stat(path).catch(() => null)
      if (after?.size === before.size && after.mtimeMs === before.mtimeMs) return
      throw new CliError('failure', `${path} changed while it was read. Check it, and run again.`)
    },
  }
}

async function bufferSource(name: string, input: AsyncIterable<unknown>): Promise<Source> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of input) {
    const buffer = Buffer.from(chunk as Uint8Array)
    bytes += buffer.length
    if (bytes > INPUT_BYTES_MAX) {
      throw createUsageError(`${name} has more than 64 MiB: save it to a file first.`)
    }
    chunks.push(buffer)
  }
  const read = async function* () {
    yield* chunks
  }
  return { name, ...(await digest(read())), read, verify: async () => {} }
}

async function digest(chunks: AsyncIterable<Buffer>) {
  const hash = createHash('sha256')
  let lineCount = 0
  let last = 0x0a
  for await (const chunk of chunks) {
    hash.update(chunk)
    for (const byte of chunk) if (byte === 0x0a) lineCount += 1
    last = chunk.at(-1) ?? last
  }
  return { digest: hash.digest('hex'), lineCount: lineCount + (last === 0x0a ? 0 : 1) }
}

const LINE_BYTES_MAX = 1_048_576

/** The lines of a file. One that is too long or no UTF-8 is a problem of its own. */
export async function* readLines({ read }: Pick<Source, 'read'>): AsyncGenerator<TextLine> {
  let number = 0
  let parts: Buffer[] = []
  let bytes = 0
  const finish = (): TextLine => {
    number += 1
    const whole = Buffer.concat(parts)
    const isTooLong = bytes > LINE_BYTES_MAX
    parts = []
    bytes = 0
    return isTooLong
      ? { number, text: null, problem: 'The line is longer than 1 MiB.' }
      : decodeLine(whole, number)
  }
  const add = (part: Buffer) => {
    bytes += part.length
    if (bytes <= LINE_BYTES_MAX) parts.push(part)
    else parts = []
  }
  for await (const chunk of read()) {
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      add(chunk.subarray(from, at))
      from = at + 1
      yield finish()
    }
    add(chunk.subarray(from))
  }
  if (bytes > 0) yield finish()
}

function decodeLine(bytes: Buffer, number: number): TextLine {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: number !== 1 })
    return { number, text: decoder.decode(bytes).replace(/\r$/, ''), problem: '' }
  } catch {
    return { number, text: null, problem: 'The line is not UTF-8.' }
  }
}
