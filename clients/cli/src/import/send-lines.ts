import { type FileHandle, open } from 'node:fs/promises'
import { APIError, InvalidArgumentError, type Signalbox } from '@signalbox/sdk'
import { type EventBody, toSubmission } from '../event-fields.ts'
import { EXIT_CODES, exitCodeOf } from '../exit-codes.ts'
import type { Progress } from '../output/progress.ts'
import { type ImportTally, noteNotices } from './import-tally.ts'
import type { EventLine } from './read-events.ts'

interface SendInput {
  client: Signalbox
  lines: AsyncGenerator<EventLine>
  concurrency: number
  signal: AbortSignal
  refusedFile: RefusedFile
  progress: Progress
  tally: ImportTally
}

export interface LineCounts {
  /** Read so far. */
  lines: number
  stored: number
  /** Stored before. */
  duplicates: number
  refused: number
}

interface SendResult {
  counts: LineCounts
  /** Of the events that are stored, in no order. */
  ids: string[]
  /** Why it stopped early; null at the end of the file. */
  failure: unknown
  /** The first line without an outcome; null when every line has one. */
  firstUnsent: number | null
}

/** A service that throttles or restarts is waited for, since a stop costs a person's attention. */
const PATIENCE = { maxRetries: 8, totalTimeout: 180_000 }

/** Sends lines, several at a time. It stops at the first failure that is not of a line's own. */
export async function sendLines(input: SendInput): Promise<SendResult> {
  const { lines, concurrency, signal, refusedFile, progress } = input
  const counts: LineCounts = { lines: 0, stored: 0, duplicates: 0, refused: 0 }
  const result: SendResult = { counts, ids: [], failure: null, firstUnsent: null }
  const isStopped = () => result.failure !== null || signal.aborted
  const refuse = async (line: EventLine, error: unknown) => {
    const reason = line.problem ?? (error as Error).message
    const errors = error instanceof APIError ? { errors: error.errors } : {}
    const content = line.event === null ? { text: line.text } : { event: line.event }
    await refusedFile.add({ line: line.number, reason, ...errors, ...content })
    counts.refused += 1
  }
  const send = async (line: EventLine) => {
    if (line.event === null) return refuse(line, null)
    try {
      const created = await input.client.events.create(toSubmission(line.event), {
        ...PATIENCE,
        signal,
      })
      if (created.duplicate) counts.duplicates += 1
      else counts.stored += 1
      noteNotices(input.tally, created.notices ?? [], line.number)
      result.ids.push(created.event_id)
    } catch (error) {
      if (!isRefused(error)) throw error
      await refuse(line, error)
    }
  }
  const work = async () => {
    while (!isStopped()) {
      const line = await takeLine()
      if (line === null) return
      try {
        await send(line)
        progress.step(counts.refused > 0 ? `${counts.refused} refused` : '')
      } catch (error) {
        result.firstUnsent = Math.min(line.number, result.firstUnsent ?? line.number)
        result.failure ??= signal.aborted ? null : error
        return
      }
    }
  }
  const takeLine = async () => {
    const { value, done } = await lines.next()
    if (done) return null
    counts.lines += 1
    return value
  }
  // A fault of the file itself, such as its header, is a failure too.
  await Promise.all(Array.from({ length: concurrency }, work))
  return result
}

/** The service refuses this line, whenever it is sent. */
function isRefused(error: unknown): boolean {
  return error instanceof InvalidArgumentError || exitCodeOf(error) === EXIT_CODES.refused
}

/** A line that was not stored, and why. */
interface RefusedLine {
  line: number
  reason: string
  errors?: Record<string, string[]>
  /** As it would be sent, with its id; absent when the line cannot be read. */
  event?: EventBody
  /** The line, when it has no event. */
  text?: string | null
}

/** Refused lines as NDJSON, for correction. Written as they occur, so that a crash loses none. */
export class RefusedFile {
  readonly path: string
  #file: Promise<FileHandle> | null = null
  #writes: Promise<unknown> = Promise.resolve()

  constructor(path: string) {
    this.path = path
  }

  /** Resolves when the line is written. The first one replaces the file of an earlier run. */
  async add(line: RefusedLine): Promise<void> {
    this.#file ??= open(this.path, 'w', 0o600)
    const file = await this.#file
    this.#writes = this.#writes.then(() => file.write(`${JSON.stringify(line)}\n`))
    await this.#writes
  }

  async close(): Promise<void> {
    const file = await this.#file
    await file?.close()
  }
}
