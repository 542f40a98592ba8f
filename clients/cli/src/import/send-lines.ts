import { type FileHandle, open } from 'node:fs/promises'
import { type EventResult, type Signalbox, SignalboxError } from '@signalbox/sdk'
import { CliError } from '../cli-error.ts'
import { type EventBody, toSubmission } from '../event-fields.ts'
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

/** Lines of one request. The client splits it when the service takes fewer bytes. */
const LINES_A_REQUEST = 100

/** Sends lines, several requests at a time. Stops at the first failure that is not of a line. */
export async function sendLines(input: SendInput): Promise<SendResult> {
  const { lines, concurrency, signal, progress } = input
  const counts: LineCounts = { lines: 0, stored: 0, duplicates: 0, refused: 0 }
  const result: SendResult = { counts, ids: [], failure: null, firstUnsent: null }
  const isStopped = () => result.failure !== null || signal.aborted
  const fail = (line: number, error: unknown) => {
    result.firstUnsent = Math.min(line, result.firstUnsent ?? line)
    result.failure ??= signal.aborted ? null : error
  }
  const takeLines = createReader(lines)
  const work = async () => {
    while (!isStopped()) {
      const taken = await takeLines()
      counts.lines += taken.length
      if (taken.length === 0) return
      await sendSome(input, taken, { result, fail })
      progress.step(counts.refused > 0 ? `${counts.refused} refused` : '', taken.length)
    }
  }
  // A fault of the file itself, such as its header, is a failure too.
  await Promise.all(Array.from({ length: concurrency }, work))
  return result
}

/** Reads the lines of one request at a time; none at the end. */
function createReader(lines: AsyncGenerator<EventLine>): () => Promise<EventLine[]> {
  let fault: { error: unknown } | null = null
  const read = async () => {
    if (fault) throw fault.error
    const taken: EventLine[] = []
    try {
      while (taken.length < LINES_A_REQUEST) {
        const { value, done } = await lines.next()
        if (done) break
        taken.push(value)
      }
    } catch (error) {
      // The lines before it are sent first.
      fault = { error }
      if (taken.length === 0) throw error
    }
    return taken
  }
  let reading: Promise<unknown> = Promise.resolve()
  return () => {
    const taken = reading.then(read)
    reading = taken.catch(() => {})
    return taken
  }
}

interface Outcome {
  result: SendResult
  fail: (line: number, error: unknown) => void
}

/** Sends the events of some lines together and notes the result of each line. */
async function sendSome(
  { client, signal, refusedFile, tally }: SendInput,
  lines: readonly EventLine[],
  { result, fail }: Outcome,
): Promise<void> {
  const { counts, ids } = result
  const refuse = async (line: EventLine, reason: string, errors?: EventResult['errors']) => {
    const content = line.event === null ? { text: line.text } : { event: line.event }
    const named = errors && { errors }
    await refusedFile.add({ line: line.number, reason, ...named, ...content })
    counts.refused += 1
  }
  const readable = lines.filter(line => line.event !== null)
  for (const line of lines) if (line.event === null) await refuse(line, line.problem)
  const options = { ...PATIENCE, signal }
  const events = readable.map(({ event }) => toSubmission(event as EventBody))
  const sent = await client.events.createEvents(events, options).then(
    results => ({ results, error: null }),
    (error: unknown) => ({ results: resultsOf(error), error }),
  )
  for (const [at, line] of readable.entries()) {
    const answered = sent.results[at]
    if (!answered) return fail(line.number, sent.error)
    const { status, event_id, notices = [], message = `Status ${status}.`, errors } = answered
    if (status === TOO_MANY || status === UNAVAILABLE) {
      fail(line.number, new CliError('tryLater', message))
    } else if (status > ACCEPTED) await refuse(line, message, errors ?? {})
    else {
      if (answered.duplicate) counts.duplicates += 1
      else counts.stored += 1
      noteNotices(tally, notices, line.number)
      if (event_id) ids.push(event_id)
    }
  }
}

const [ACCEPTED, TOO_MANY, UNAVAILABLE] = [202, 429, 503]

/** Those of the events before the request that failed. */
function resultsOf(error: unknown): readonly EventResult[] {
  return (error instanceof SignalboxError && error.results) || []
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
