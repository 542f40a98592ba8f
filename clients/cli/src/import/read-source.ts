import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { CliError, createUsageError } from '../cli-error.ts'
import type { CliHost } from '../host.ts'

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
