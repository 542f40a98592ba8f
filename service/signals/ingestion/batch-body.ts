import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import { BODY_BYTES_MAX, describeBodyTooLarge } from '@signalbox/contract/errors.ts'
import {
  BATCH_BYTES_MAX,
  BATCH_EVENTS_MAX,
  NDJSON_MEDIA_TYPE,
  PAGE_BATCH_EVENTS_MAX,
} from '@signalbox/contract/event-batches.ts'
import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import { NOT_JSON, readJsonBody } from '../../runtime/http/request-body.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { objectOrEmpty } from '../../runtime/util/is-object.ts'

/** One event of a batch: its body, or why it cannot be read. */
export type BatchEvent = {
  bytes: number
  /** As it was sent, for the counts of refusals. */
  eventId: string | null
} & ({ body: unknown } | { refusal: Refusal })

interface ReceivedBatch {
  bytes: Buffer
  mediaType: string | undefined
  coding: string | undefined
  /** Whether a publishable key sent it. */
  isOfPage: boolean
}

/**
 * Reads the events of a batch. Throws the refusal of the whole request: a coding or a size that is
 * not taken, a body that is not JSON, no event, or too many. What is wrong with one event is the
 * result of that event; of lines, also that it is no JSON.
 */
export async function readBatch(received: ReceivedBatch): Promise<BatchEvent[]> {
  const bytes = await decompress(received)
  const isLines = received.mediaType?.split(';')[0]?.trim().toLowerCase() === NDJSON_MEDIA_TYPE
  const texts = isLines ? splitLines(bytes) : splitEvents(bytes)
  const validator = received.isOfPage ? pageBatchValidator : batchValidator
  validator.validate({ events: texts })
  const events: BatchEvent[] = []
  const turns = new EventTurns()
  for (const text of texts) {
    await turns.pass(text.length)
    const event = readEvent(text)
    const isMalformed = 'refusal' in event && event.refusal.message === NOT_JSON
    if (isMalformed && !isLines) throw event.refusal
    events.push(event)
  }
  return events
}

const EVENTS_PER_TURN = 10
/** A single request has at most four times as many. */
const BYTES_PER_TURN = BODY_BYTES_MAX / 4

/** Others have a turn between some events, so that single requests do not wait for a batch. */
export class EventTurns {
  #events = 0
  #bytes = 0

  /** Call it before each event of a batch, with the size of the event. */
  async pass(bytes: number): Promise<void> {
    if (this.#events === EVENTS_PER_TURN || this.#bytes + bytes > BYTES_PER_TURN) {
      this.#events = 0
      this.#bytes = 0
      await new Promise(setImmediate)
    }
    this.#events += 1
    this.#bytes += bytes
  }
}

const createBatchValidator = (maxItems: number) =>
  new Validator(Type.Object({ events: Type.Array(Type.Unknown(), { minItems: 1, maxItems }) }))
const batchValidator = createBatchValidator(BATCH_EVENTS_MAX)
const pageBatchValidator = createBatchValidator(PAGE_BATCH_EVENTS_MAX)

interface Decompressed {
  buffer: Buffer
  /** Counts the bytes that were read. */
  engine: { bytesWritten: number }
}
type Decompress = (
  bytes: Buffer,
  options: { maxOutputLength: number; info: true },
) => Promise<Decompressed>

const DECOMPRESSORS: ReadonlyMap<string, Decompress> = new Map([
  ['gzip', promisify(gunzip) as unknown as Decompress],
  ['zstd', promisify(zstdDecompress) as unknown as Decompress],
])

/** Real batches shrink to a tenth, and a hundred events that are almost equal to a hundredth. */
const RATIO_MAX = 200

async function decompress({ bytes, coding = 'identity' }: ReceivedBatch): Promise<Buffer> {
  const name = coding.trim().toLowerCase()
  if (name === 'identity' || bytes.length === 0) return bytes
  const run = DECOMPRESSORS.get(name)
  if (!run) {
    const headers = { 'accept-encoding': [...DECOMPRESSORS.keys()].join(', ') }
    throw new Refusal(415, 'Send the body as it is, or with gzip or zstd.', { headers })
  }
  const maxOutputLength = Math.min(
    BATCH_BYTES_MAX,
    Math.max(BODY_BYTES_MAX, bytes.length * RATIO_MAX),
  )
  try {
    return await decompressFrames(run, bytes, maxOutputLength)
  } catch (error) {
    if (error instanceof Refusal) throw error
    if ((error as { code?: unknown }).code !== TOO_LARGE_CODE) {
      throw new Refusal(400, `The body is not valid ${name}.`)
    }
    const message =
      maxOutputLength === BATCH_BYTES_MAX
        ? describeBodyTooLarge(BATCH_BYTES_MAX)
        : `The body grows to more than ${RATIO_MAX} times its size; compress it less.`
    throw new Refusal(413, message)
  }
}

/**
 * A body may have several frames, one behind the other (RFC 8878, section 3.1). Node's zstd stops
 * after the first one, and its gzip at padding: what is behind would be lost without a word.
 */
async function decompressFrames(run: Decompress, bytes: Buffer, max: number): Promise<Buffer> {
  const frames: Buffer[] = []
  let [start, size] = [0, 0]
  while (start < bytes.length) {
    if (frames.length === BATCH_EVENTS_MAX) throw new Refusal(413, TOO_MANY_FRAMES)
    // Node takes no limit of 0, so the last byte is counted below.
    const maxOutputLength = Math.max(max - size, 1)
    const { buffer, engine } = await run(bytes.subarray(start), { maxOutputLength, info: true })
    frames.push(buffer)
    size += buffer.length
    start += engine.bytesWritten
    while (bytes[start] === PADDING) start += 1
  }
  if (size > max) throw Object.assign(new Error('too large'), { code: TOO_LARGE_CODE })
  return Buffer.concat(frames)
}

const PADDING = 0
const TOO_LARGE_CODE = 'ERR_BUFFER_TOO_LARGE'
const TOO_MANY_FRAMES = `The body has more than ${BATCH_EVENTS_MAX} compressed frames; use one.`

const TOO_LARGE = `The event is larger than ${BODY_BYTES_MAX} bytes; leave out optional data.`

/** The same rules as for the body of createEvent. */
function readEvent(part: Buffer): BatchEvent {
  const bytes = part.length
  if (bytes > BODY_BYTES_MAX) {
    const refusal = new Refusal(422, TOO_LARGE, { reason: 'body_too_large' })
    return { bytes, eventId: null, refusal }
  }
  try {
    const body = readJsonBody(part)
    const { event_id: eventId } = objectOrEmpty(body)
    return { bytes, eventId: typeof eventId === 'string' ? eventId : null, body }
  } catch (error) {
    if (error instanceof Refusal) return { bytes, eventId: null, refusal: error }
    throw error
  }
}

const [LINE_FEED, QUOTE, COLON, BACKSLASH] = [0x0a, 0x22, 0x3a, 0x5c]
const [COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x2c, 0x5b, 0x5d, 0x7b, 0x7d]

/** White space as JSON knows it. */
const isSpace = (byte: number | undefined) =>
  byte === 0x20 || byte === LINE_FEED || byte === 0x0d || byte === 0x09

/** So many events tell that there are too many. A body has room for a million. */
const EVENTS_CUT_MAX = BATCH_EVENTS_MAX + 1

/** One event a line; lines of white space are none. */
function splitLines(bytes: Buffer): Buffer[] {
  const events: Buffer[] = []
  for (let start = 0; start < bytes.length && events.length < EVENTS_CUT_MAX; ) {
    const found = bytes.indexOf(LINE_FEED, start)
    const end = found < 0 ? bytes.length : found
    const line = trim(bytes, start, end)
    if (line.length > 0) events.push(line)
    start = end + 1
  }
  return events
}

function trim(bytes: Buffer, start: number, end: number): Buffer {
  let [from, to] = [start, end]
  while (from < to && isSpace(bytes[from])) from += 1
  while (to > from && isSpace(bytes[to - 1])) to -= 1
  return bytes.subarray(from, to)
}

/**
 * Cuts `{"events": [...]}` into the texts of its events, so that each is read by itself. The body
 * is valid JSON when they and what is around them are.
 */
function splitEvents(bytes: Buffer): Buffer[] {
  const list = findEventList(bytes)
  if (list === null) throw refuseWithoutList(readJsonBody(bytes))
  readJsonBody(Buffer.concat([bytes.subarray(0, list.start + 1), bytes.subarray(list.end)]))
  const [first, ...others] = list.events
  if (first?.length === 0 && others.length === 0) return []
  // An empty text between two commas is no JSON.
  if (list.events.some(({ length }) => length === 0)) throw new Refusal(400, NOT_JSON)
  return list.events
}

/** The 422 for a body without a list in its member `events`. */
function refuseWithoutList(body: unknown): Error {
  try {
    batchValidator.validate(body)
  } catch (error) {
    return error as Error
  }
  return new Error('a list of events was not found')
}

interface EventList {
  /** Where its brackets are. */
  start: number
  end: number
  events: Buffer[]
}

/** The list in the member `events` of the outermost object; null when there is none. */
function findEventList(bytes: Buffer): EventList | null {
  let depth = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1
    if (byte !== QUOTE) continue
    const end = endOfText(bytes, at)
    const next = skipSpace(bytes, end)
    if (depth === 1 && bytes[next] === COLON && isEventsKey(bytes.subarray(at, end))) {
      const start = skipSpace(bytes, next + 1)
      if (bytes[start] === OPEN_LIST) return cutList(bytes, start)
    }
    at = end - 1
  }
  return null
}

/** The position behind a text that begins here. */
function endOfText(bytes: Buffer, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start
  while (isSpace(bytes[at])) at += 1
  return at
}

/** A name may be written with escapes. */
function isEventsKey(text: Buffer): boolean {
  const written = text.toString('utf8')
  if (written === '"events"') return true
  if (!written.includes('\\')) return false
  try {
    return JSON.parse(written) === 'events'
  } catch {
    return false
  }
}

function cutList(bytes: Buffer, start: number): EventList | null {
  const events: Buffer[] = []
  let depth = 0
  let from = start + 1
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfText(bytes, at) - 1
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1
    const isEnd = depth === 0
    if (!isEnd && (depth !== 1 || byte !== COMMA)) continue
    if (events.length < EVENTS_CUT_MAX) events.push(trim(bytes, from, at))
    if (isEnd) return { start, end: at, events }
    from = at + 1
  }
  return null
}
