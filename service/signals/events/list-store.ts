import type { Database } from '../../runtime/db/database.ts'
import { UnreadableTimeError } from '../../runtime/db/database-errors.ts'
import { COLUMN_DEFAULTS, decodeOwnDigests, UNMARKED_IDENTITY } from './column-encoding.ts'
import type { EventRef } from './event-columns.ts'
import { type EventSpace, SPACE_NUMBERS } from './event-record.ts'
import { payloadCondition, type StoredEvent, toStoredEvent } from './event-store.ts'
import { POSITION_INTERVAL } from './list-position-store.ts'

export interface EventRefPage {
  total: number
  /** Newest first. Empty when the page is past the end of the list. */
  events: EventRef[]
}

/**
 * `start` is the day on which the page begins, with the position of its first event counted from
 * the oldest event of that day; both follow from the daily counts. `newer` and `older` are the
 * nearest references on each side: a stored position, or an end of the day. From `newer` the page
 * is read directly; from `older` its first event is located and the page read from there. The
 * counts also limit which positions are valid. Everything is one snapshot, and each range of events
 * has its own bounds on `created_at`.
 */
const LIST_EVENTS = `
  with days as (
    select received_on, sum(events) as events, min(unindexed_since) as unindexed_since,
      (sum(sum(events)) over (order by received_on desc))::bigint as until
    from event_counts where tracker_id = $1::uuid group by received_on
  ),
  start as (
    select received_on, events as last_position, (until - $2::bigint)::integer as position,
      unindexed_since,
      received_on::timestamp at time zone 'UTC' as day_start,
      (received_on + 1)::timestamp at time zone 'UTC' as day_end,
      (select min(received_on) from days where until - events < $2::bigint + $3::bigint)
        ::timestamp at time zone 'UTC' as oldest_day_start
    from days where until > $2::bigint and until - events <= $2::bigint
  )
  select coalesce((select max(until) from days), 0)::bigint as total, page.*
  from (select 1) always
  left join lateral (
    select page.created_at, page.event_id, page.space
    from start
    cross join lateral (
      select known.position - start.position as skipped, known.created_at, known.event_id,
        known.space
      from (
        select position, created_at, event_id, space from list_positions
        where tracker_id = $1::uuid and received_on = start.received_on
          and position >= start.position and start.last_position >= ${POSITION_INTERVAL}
        order by position limit 1
      ) known
      where known.created_at < start.unindexed_since
      union all
      select start.last_position - start.position, start.day_end, '', 0::smallint
      order by skipped limit 1
    ) newer
    cross join lateral (
      select start.position - known.position as skipped, known.created_at, known.event_id,
        known.space
      from (
        select position, created_at, event_id, space from list_positions
        where tracker_id = $1::uuid and received_on = start.received_on
          and position < start.position and created_at < start.unindexed_since
          and start.last_position >= ${POSITION_INTERVAL}
        order by position desc limit 1
      ) known
      union all
      select start.position - 1, start.day_start, '', 0::smallint
      order by skipped limit 1
    ) older
    cross join lateral (
      select newer.skipped, newer.created_at, newer.event_id, newer.space
      where newer.skipped <= older.skipped
      union all
      (select 0, created_at, event_id, space from events
       where newer.skipped > older.skipped and tracker_id = $1::uuid
         and created_at >= older.created_at and created_at <= newer.created_at
         and (created_at, event_id, space) >= (older.created_at, older.event_id, older.space)
       order by created_at, event_id, space offset older.skipped limit 1)
    ) nearest
    cross join lateral (
      select created_at, event_id, space from events
      where tracker_id = $1::uuid
        and created_at >= start.oldest_day_start and created_at <= nearest.created_at
        and (created_at, event_id, space)
          <= (nearest.created_at, nearest.event_id, nearest.space)
      order by created_at desc, event_id desc, space desc offset nearest.skipped limit $3::bigint
    ) page
  ) page on true
  order by page.created_at desc, page.event_id desc, page.space desc`

/** One page of a tracker's events, newest first, in one snapshot with their total. */
export async function listEventRefs(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, offset, limit }: { trackerId: string; offset: number; limit: number },
): Promise<EventRefPage> {
  const values = [trackerId, offset, limit]
  const { rows } = await pool.query({ name: 'list-events', text: LIST_EVENTS, values })
  const events = rows
    .filter(row => row.event_id !== null)
    .map(row => ({ eventId: row.event_id, createdAt: row.created_at, space: row.space }))
  return { total: rows[0].total, events }
}

interface RefRange {
  trackerId: string
  /** Included; null: from the oldest event. */
  from: EventRef | null
  /** Events that were received before. */
  before: Date
  limit: number
}

/** `$1` to `$6` are those of `rangeValues`. */
const eventRange = (columns: string) => `
  select ${columns} from events
  where tracker_id = $1::uuid and created_at >= $2::timestamptz
    and created_at < $5::timestamptz
    and (created_at, event_id, space) >= ($2::timestamptz, $3::text, $4::smallint)
  order by created_at, event_id, space limit $6::integer`

const IS_EXACT = `created_at = date_trunc('milliseconds', created_at) as is_exact`

function rangeValues({ trackerId, from, before, limit }: RefRange) {
  const start = [from?.createdAt ?? new Date(0), from?.eventId ?? '', from?.space ?? 0]
  return [trackerId, ...start, before, limit]
}

/**
 * References of a tracker's events in the order of receipt, along the primary key. Throws an
 * UnreadableTimeError when one of them finds no event.
 */
export async function listEventRefsFrom(
  { pool }: Pick<Database, 'pool'>,
  range: RefRange,
): Promise<EventRef[]> {
  const { rows } = await pool.query({
    name: 'list-event-refs-from',
    text: eventRange(`created_at, event_id, space, ${IS_EXACT}`),
    values: rangeValues(range),
  })
  requireExactTimes(rows)
  return rows.map(row => ({ eventId: row.event_id, createdAt: row.created_at, space: row.space }))
}

/** Without click IDs and the visitors' sessions, which an export leaves out. */
const EVENTS_FROM = `
  select events.*, payload.event_id is not null as has_payload,
    payload.visitor_id, payload.user_data, payload.page_url
  from (${eventRange(`*, ${IS_EXACT}`)}) events
  left join lateral (
    select * from event_payloads where ${payloadCondition('events')} limit 1
  ) payload on true
  order by events.created_at, events.event_id, events.space`

/** Of an identity, an export has the digests alone. */
const decodeExported = ({ user_data }: { user_data: unknown }) => ({
  identityMark: UNMARKED_IDENTITY,
  plain: {},
  clickIds: {},
  digests: decodeOwnDigests(user_data),
})

/** An event that was read and is not decoded yet: decoded, a page of them is ten times as large. */
interface ReadEvent extends EventRef {
  decode: () => StoredEvent
}

/** The same events in one statement. Their identity has digests only, and they have no sessions. */
export async function listEventsFrom(
  { pool }: Pick<Database, 'pool'>,
  range: RefRange,
): Promise<ReadEvent[]> {
  const values = rangeValues(range)
  const { rows } = await pool.query({ name: 'list-events-from', text: EVENTS_FROM, values })
  requireExactTimes(rows)
  return rows.map(row => ({
    eventId: row.event_id,
    createdAt: row.created_at,
    space: row.space,
    decode: () => toStoredEvent(row, decodeExported),
  }))
}

function requireExactTimes(rows: { event_id: string; is_exact: boolean }[]): void {
  const inexact = rows.find(({ is_exact }) => !is_exact)
  if (!inexact) return
  throw new UnreadableTimeError(
    `The event ${inexact.event_id} has a time finer than a millisecond, which Signalbox never ` +
      'stores: set its created_at to whole milliseconds in all tables, then try again.',
  )
}

/** Events that are searched for one that is neither a test nor the verification, newest first. */
const SEARCHED_MAX = 500

/** When a tracker's newest event was received, without tests and the verification event. */
export async function findLastReceipt(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
): Promise<Date | null> {
  const { rows } = await pool.query({
    name: 'find-last-receipt',
    text: `select created_at from (
             select created_at, event_class from events where tracker_id = $1::uuid
             order by created_at desc, event_id desc, space desc limit ${SEARCHED_MAX}
           ) newest
           where event_class is null or event_class not in ('test', 'verification')
           order by created_at desc limit 1`,
    values: [trackerId],
  })
  return rows[0]?.created_at ?? null
}

/** What a routing compares of an event. */
export interface LastEvent {
  eventName: string
  actionSource: string
  valueAmount: string | null
  valueCurrency: string | null
  space: EventSpace
}

/** The last conversions of a tracker in a range of times, newest first; no test purchases. */
export async function listLastEvents(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, from, until, limit }: { trackerId: string; from: Date; until: Date; limit: number },
): Promise<LastEvent[]> {
  const { rows } = await pool.query({
    name: 'list-last-events',
    // Events of other classes take the place of a conversion, so that the scan has a limit.
    text: `select event_name, action_source, value_amount, value_currency, space from (
             select event_name, action_source, value_amount, value_currency, space, event_class,
               created_at, event_id
             from events
             where tracker_id = $1::uuid
               and created_at >= $2::timestamptz and created_at <= $3::timestamptz
             order by created_at desc, event_id desc, space desc limit $4::integer
           ) newest
           where event_class is null or event_class = 'conversion'
           order by created_at desc, event_id desc, space desc`,
    values: [trackerId, from, until, limit],
  })
  return rows.map(row => ({
    eventName: row.event_name,
    actionSource: row.action_source ?? COLUMN_DEFAULTS.action_source,
    valueAmount: row.value_amount,
    valueCurrency: row.value_currency,
    space: row.space === SPACE_NUMBERS.publishable ? 'publishable' : 'secret',
  }))
}
