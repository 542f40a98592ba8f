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
  for (const [index, text] of texts.entries()) {
    if (index % EVENTS_PER_TURN === EVENTS_PER_TURN - 1) await nextTurn()
    const event = readEvent(text)
    const isMalformed = 'refusal' in event && event.refusal.message === NOT_JSON
    if (isMalformed && !isLines) throw event.refusal
    events.push(event)
  }
  return events
}

/** After so many events others have a turn, so that single requests do not wait for a batch. */
export const EVENTS_PER_TURN = 10
export const nextTurn = () => new Promise(setImmediate)

const createBatchValidator = (maxItems: number) =>
  new Validator(Type.Object({ events: Type.Array(Type.Unknown(), { minItems: 1, maxItems }) }))
const batchValidator = createBatchValidator(BATCH_EVENTS_MAX)
const pageBatchValidator = createBatchValidator(PAGE_BATCH_EVENTS_MAX)

type Decompress = (bytes: Buffer, limits: { maxOutputLength: number }) => Promise<Buffer>

const DECOMPRESSORS: ReadonlyMap<string, Decompress> = new Map([
  ['gzip', promisify(gunzip) as Decompress],
  ['zstd', promisify(zstdDecompress) as Decompress],
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
    return await run(bytes, { maxOutputLength })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_BUFFER_TOO_LARGE') {
      throw new Refusal(400, `The body is not valid ${name}.`)
    }
    const message =
      maxOutputLength === BATCH_BYTES_MAX
        ? describeBodyTooLarge(BATCH_BYTES_MAX)
        : `The body grows to more than ${RATIO_MAX} times its size; compress it less.`
    throw new Refusal(413, message)
  }
}

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

/** One event a line; lines of white space are none. */
function splitLines(bytes: Buffer): Buffer[] {
  const events: Buffer[] = []
  for (let start = 0; start < bytes.length; ) {
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
    events.push(trim(bytes, from, at))
    if (isEnd) return { start, end: at, events }
    from = at + 1
  }
  return null
}
