import { ACTION_SOURCES } from '@signalbox/contract/event-context.ts'
import type { Database } from '../../runtime/db/database.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import { pauseBetweenBatches } from '../../runtime/util/wait.ts'
import { containsEmail, decodeText } from '../identity/identifier-formats.ts'
import { decodeValueData, encodeValueData } from './column-encoding.ts'
import { payloadCondition } from './event-store.ts'
import { createRandomTokenMaker, mapTokens, type TokenMaker } from './free-text.ts'

/** Read in a few milliseconds each; hardly any has a token. */
const CHUNK_EVENTS = 5_000

/** An event may be committed this long after its receipt. */
const COMMIT_SECONDS = 600

interface TokenReplacement {
  database: Database
  now: Date
  signal?: AbortSignal
  /** Smaller in tests. */
  chunkEvents?: number
}

/**
 * Replaces the tokens that earlier versions made in free text, which were the same in every event
 * of a tracker, by random ones for each event. Those in `order_id` stay: an order is searched by
 * them. An action source that names a person, which earlier versions stored, becomes `other`, as
 * new ones do. Safe to repeat, to interrupt, and to run in several processes: a token that is
 * replaced twice is random as well. Returns the number of events that changed.
 */
export async function replaceTextTokens(replacement: TokenReplacement): Promise<number> {
  const { database, signal } = replacement
  let changed = 0
  for (const trackerId of await findTrackers(database)) {
    let hasMore = true
    while (hasMore && !signal?.aborted) {
      const chunk = await replaceInChunk(replacement, trackerId)
      changed += chunk.changed
      hasMore = chunk.hasMore
      if (hasMore) await pauseBetweenBatches()
    }
  }
  return changed
}

async function findTrackers({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query('select tracker_id from free_text_scans order by tracker_id')
  return rows.map(row => row.tracker_id)
}

async function replaceInChunk(
  { database, now, chunkEvents = CHUNK_EVENTS }: TokenReplacement,
  trackerId: string,
): Promise<{ changed: number; hasMore: boolean }> {
  const end = new Date(now.getTime() - COMMIT_SECONDS * 1_000)
  const chunk = await findChunk(database, { trackerId, end, chunkEvents })
  if (chunk === null) return { changed: 0, hasMore: false }
  let changed = 0
  for (const event of await findTextEvents(database, trackerId, chunk)) {
    if (await replaceInEvent(database, trackerId, event)) changed += 1
  }
  changed += await replaceActionSources(database, trackerId, chunk)
  await recordProgress(database, trackerId, chunk)
  return { changed, hasMore: chunk.hasMore }
}

/** A range of time, after the first and up to the second, as PostgreSQL writes them. */
interface Chunk {
  from: string
  to: string
  hasMore: boolean
}

/** Null when the scan of the tracker is done. Events of the same time are in one chunk. */
async function findChunk(
  { pool }: Database,
  { trackerId, end, chunkEvents }: { trackerId: string; end: Date; chunkEvents: number },
): Promise<Chunk | null> {
  const { rows: scans } = await pool.query(
    `select scanned_to::text as scanned_to, least(until, $2::timestamptz)::text as end
     from free_text_scans where tracker_id = $1::uuid`,
    [trackerId, end.toISOString()],
  )
  const [scan] = scans
  if (!scan) return null
  const { rows } = await pool.query(
    `select max(created_at)::text as last, count(*)::integer as events
     from (
       select created_at from events
       where tracker_id = $1::uuid and created_at > $2::timestamptz
         and created_at <= $3::timestamptz
       order by created_at limit $4::integer
     ) chunk`,
    [trackerId, scan.scanned_to, scan.end, chunkEvents],
  )
  const [{ last, events }] = rows
  const hasMore = events === chunkEvents
  return { from: scan.scanned_to, to: hasMore ? last : scan.end, hasMore }
}

interface TextEvent {
  event_id: string
  space: number
  created_at: Date
  order_id: string | null
  value_amount: string | null
  value_currency: string | null
  value_data: unknown
  value_text: string | null
  user_text: string | null
  /** The key of the payload, beside that of the event. */
  payload_created_at: string | null
  received_on: string | null
}

/** The events of the chunk in which identifiers were replaced. */
async function findTextEvents(
  { pool }: Database,
  trackerId: string,
  { from, to }: Chunk,
): Promise<TextEvent[]> {
  const { rows } = await pool.query(
    `select event.event_id, event.space, event.created_at, event.order_id, event.value_amount,
       event.value_currency, event.value_data, event.value_data::text as value_text,
       payload.user_data::text as user_text, payload.created_at::text as payload_created_at,
       payload.received_on::text as received_on
     from events event
     left join lateral (
       select user_data, created_at, received_on from event_payloads
       where ${payloadCondition('event')} limit 1
     ) payload on true
     where event.tracker_id = $1::uuid and event.created_at > $2::timestamptz
       and event.created_at <= $3::timestamptz and event.notes::text like '%"redacted"%'`,
    [trackerId, from, to],
  )
  return rows
}

/** An event that changed meanwhile was erased, and has no token that tells anything. */
async function replaceInEvent(
  { pool }: Database,
  trackerId: string,
  event: TextEvent,
): Promise<boolean> {
  const tokenOf = createRandomTokenMaker()
  const valueText = replaceInValueData(event, tokenOf)
  const userText = event.user_text && mapTokens(event.user_text, tokenOf)
  const key = [trackerId, event.created_at.toISOString(), event.event_id, event.space]
  const isValueChanged = valueText !== event.value_text
  if (isValueChanged) {
    await pool.query(
      `update events set value_data = $5::json
       where tracker_id = $1::uuid and created_at = $2::timestamptz and event_id = $3::text
         and space = $4::smallint and value_data::text = $6::text`,
      [...key, valueText, event.value_text],
    )
  }
  const isPayloadChanged = userText !== event.user_text
  if (isPayloadChanged) {
    await pool.query(
      `update event_payloads set user_data = $5::json
       where tracker_id = $1::uuid and created_at = $2::timestamptz and event_id = $3::text
         and space = $4::smallint and user_data::text = $6::text and received_on = $7::date`,
      [
        trackerId,
        event.payload_created_at,
        event.event_id,
        event.space,
        userText,
        event.user_text,
        event.received_on,
      ],
    )
  }
  return isValueChanged || isPayloadChanged
}

const UNNAMED_SOURCE = 'other'
/** As many digits as a phone number has. */
const MANY_DIGITS = /(?:\d\D{0,2}){7}/

/** Of sources that no platform knows, those that hold an address or a number like a phone's. */
async function replaceActionSources(
  { pool }: Database,
  trackerId: string,
  { from, to }: Chunk,
): Promise<number> {
  const period = [trackerId, from, to]
  const { rows } = await pool.query(
    `select distinct action_source from events
     where tracker_id = $1::uuid and created_at > $2::timestamptz
       and created_at <= $3::timestamptz and action_source <> all ($4::text[])`,
    [...period, ACTION_SOURCES],
  )
  const named = rows.map(row => row.action_source).filter(namesPerson)
  if (named.length === 0) return 0
  const { rows: changed } = await pool.query(
    `update events set action_source = $5::text
     where tracker_id = $1::uuid and created_at > $2::timestamptz
       and created_at <= $3::timestamptz and action_source = any ($4::text[])
     returning event_id`,
    [...period, named, UNNAMED_SOURCE],
  )
  return changed.length
}

function namesPerson(source: string): boolean {
  const text = decodeText(source)
  return containsEmail(text) || MANY_DIGITS.test(text)
}

/** The stored text with other tokens in every member but the order ID. */
function replaceInValueData(event: TextEvent, tokenOf: TokenMaker): string | null {
  const value = decodeValueData(event)
  if (value === null) return event.value_text
  const replaced = Object.entries(value).map(([name, member]) => {
    return [name, name === 'order_id' ? member : replaceTokens(member, tokenOf)]
  })
  const valueData = JSON.stringify(Object.fromEntries(replaced))
  if (valueData === JSON.stringify(value)) return event.value_text
  const { value_amount: valueAmount, value_currency: valueCurrency, order_id: orderId } = event
  return encodeValueData({ valueData, valueAmount, valueCurrency, orderId })
}

function replaceTokens(value: unknown, tokenOf: TokenMaker): unknown {
  if (typeof value === 'string') return mapTokens(value, tokenOf)
  if (Array.isArray(value)) return value.map(item => replaceTokens(item, tokenOf))
  if (!isObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => {
    return [mapTokens(name, tokenOf), replaceTokens(member, tokenOf)]
  })
  return Object.fromEntries(members)
}

/** Never backward: another process may be ahead. The row of a finished tracker is deleted. */
async function recordProgress({ pool }: Database, trackerId: string, { to }: Chunk): Promise<void> {
  await pool.query(
    `update free_text_scans set scanned_to = greatest(scanned_to, $2::timestamptz)
     where tracker_id = $1::uuid`,
    [trackerId, to],
  )
  await pool.query(
    'delete from free_text_scans where tracker_id = $1::uuid and scanned_to >= until',
    [trackerId],
  )
}
