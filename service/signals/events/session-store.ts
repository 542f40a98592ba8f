import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import {
  CLICK_AGE_MILLISECONDS_MAX,
  keepFirstClickIds,
  mergeClickIds,
  type SessionClickIds,
} from '../identity/click-ids.ts'
import type { EventRecord } from './event-record.ts'

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/**
 * Eight equal digits in a row, as in a UUID that a person wrote or that a browser made without
 * random numbers. Many visitors may have it. One in thirty million random UUIDs is taken for one.
 */
const CONSTANT = /([0-9a-f])\1{7}/i

/** From guides and manuals, where programs copy them from. */
const PUBLISHED_UUIDS = [
  '550e8400-e29b-41d4-a716-446655440000',
  '123e4567-e89b-42d3-a456-426614174000',
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d',
  '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed',
]

/**
 * Whether no one can guess the visitor ID, such as the random UUID that the tag makes: a page that
 * names it is a page of that visitor.
 */
export function isUnguessableVisitorId(visitorId: string): boolean {
  return (
    UUID_V4.test(visitorId) &&
    !CONSTANT.test(visitorId) &&
    !PUBLISHED_UUIDS.includes(visitorId.toLowerCase())
  )
}

/** The session of a visitor, as reads show it. */
export interface StoredSession extends SessionClickIds {
  visitorId: string
  firstSeenAt: Date
  lastSeenAt: Date
  landingSource: string | null
  /** When a page last named another click ID than the first, which is kept. */
  pageClickIgnoredAt: Date | null
}

/** The click IDs of a visitor from one event or several. */
export interface MergedClickIds extends SessionClickIds {
  /** When a page last named another click ID than the first one, which is kept. */
  pageClickIgnoredAt: Date | null
}

const NO_CLICK_IDS: MergedClickIds = {
  clickIds: {},
  secretClickIds: {},
  pageClickIgnoredAt: null,
}

/** Adds the click IDs of an event to those of earlier events of its visitor in the batch. */
export function mergeSessionClickIds(
  earlier: MergedClickIds = NO_CLICK_IDS,
  { space, createdAt }: EventRecord,
  { visitorId, clickIds: named }: NonNullable<EventRecord['session']>,
): MergedClickIds {
  const { clickIds, secretClickIds, pageClickIgnoredAt } = earlier
  if (space === 'secret') {
    const merged = mergeClickIds(secretClickIds, named)
    return { clickIds, secretClickIds: merged, pageClickIgnoredAt }
  }
  if (isUnguessableVisitorId(visitorId)) {
    return { clickIds: mergeClickIds(clickIds, named), secretClickIds, pageClickIgnoredAt }
  }
  const { clickIds: kept, isIgnored } = keepFirstClickIds(clickIds, named)
  return {
    clickIds: kept,
    secretClickIds,
    pageClickIgnoredAt: isIgnored ? createdAt : pageClickIgnoredAt,
  }
}

/**
 * The click IDs of a session after an event named others, as `mergeClickIds`: it keeps the time at
 * which a Meta click was first seen, and a click that an event brings late does not replace a newer
 * one.
 */
function newestClickIds(column: 'click_ids' | 'secret_click_ids'): string {
  const stored = `sessions.${column}`
  const named = `excluded.${column}`
  return `(${stored}::jsonb || ${named}::jsonb || case
        when split_part(${stored} ->> 'fbc', '.', 4) = split_part(${named} ->> 'fbc', '.', 4)
          or split_part(${stored} ->> 'fbc', '.', 3) collate "C" >
             split_part(${named} ->> 'fbc', '.', 3) collate "C"
        then jsonb_set('{}', '{fbc}', coalesce(${stored}::jsonb -> 'fbc', 'null'))
        else '{}' end)::json`
}

/** What is stored of pages, without a click that no platform attributes any more. */
const CURRENT_PAGE_CLICK_IDS = `(sessions.click_ids::jsonb - case
        when split_part(sessions.click_ids ->> 'fbc', '.', 3) collate "C" < (floor(extract(
          epoch from excluded.last_seen_at at time zone 'UTC') * 1000)
          - ${CLICK_AGE_MILLISECONDS_MAX})::text collate "C"
        then array['fbc', 'fbclid'] else '{}'::text[] end)`
const FIRST_CLICK_IDS = `(excluded.click_ids::jsonb || ${CURRENT_PAGE_CLICK_IDS})`
/** As `isUnguessableVisitorId`. */
const IS_UNGUESSABLE = `(excluded.visitor_id collate "C" ~* '${UUID_V4.source}'
  and excluded.visitor_id collate "C" !~* '${CONSTANT.source}'
  and lower(excluded.visitor_id collate "C") <> all('{${PUBLISHED_UUIDS.join()}}'::text[]))`

/** What pages named: the newest of a visitor ID that no one guesses, the first of any other. */
const PAGE_CLICK_IDS = `case
        when excluded.click_ids::text = '{}' then sessions.click_ids
        when ${IS_UNGUESSABLE} then ${newestClickIds('click_ids')}
        else ${FIRST_CLICK_IDS}::json end`

/** As `keepFirstClickIds` tells it. */
const IS_PAGE_CLICK_IGNORED = `excluded.click_ids::text <> '{}' and not ${IS_UNGUESSABLE} and (
          not ${FIRST_CLICK_IDS} - 'fbc' @> excluded.click_ids::jsonb - 'fbc'
          or split_part(${FIRST_CLICK_IDS} ->> 'fbc', '.', 4) <>
             split_part(excluded.click_ids ->> 'fbc', '.', 4))`

/** The columns of an appended event that `writeSessions` reads, besides tracker and time. */
export const SESSION_COLUMNS = [
  'session_visitor_id',
  'session_ordinal',
  'first_seen_at',
  'landing_source',
  'session_click_ids',
  'session_secret_click_ids',
  'page_click_ignored_at',
]

/** The last event of each visitor in `source`, with the names of `sessions`. */
function selectVisits(source: string, more = ''): string {
  return `
    select distinct on (tracker_id, session_visitor_id)
      tracker_id, session_visitor_id as visitor_id,
      coalesce(first_seen_at, created_at) as first_seen_at, created_at as last_seen_at,
      landing_source, session_click_ids as click_ids,
      session_secret_click_ids as secret_click_ids, page_click_ignored_at ${more}
    from ${source} where session_visitor_id is not null
    order by tracker_id, session_visitor_id, session_ordinal desc`
}

const WRITTEN_COLUMNS = [
  'tracker_id',
  'visitor_id',
  'first_seen_at',
  'last_seen_at',
  'landing_source',
  'click_ids',
  'secret_click_ids',
  'page_click_ignored_at',
]

/** SQL that writes the last event of each visitor in `source`, in the order of the keys. */
export function writeSessions(source: string): string {
  return upsertSessions(selectVisits(source))
}

/** How old the time of the last visit may be, as SQL. */
const LAST_SEEN_AGE_MAX = `interval '1 hour'`

/** A visit that changes nothing but the time of a last visit that is recent. */
const BRINGS_NOTHING = `(
      excluded.session_is_due is null
      and excluded.last_seen_at < sessions.last_seen_at + ${LAST_SEEN_AGE_MAX}
      and (excluded.landing_source is null or sessions.landing_source is not null)
      and excluded.page_click_ignored_at is null
      and (excluded.click_ids::text in ('{}', sessions.click_ids::text)
        or (${IS_PAGE_CLICK_IGNORED}) is not true
          and (${PAGE_CLICK_IDS})::jsonb = sessions.click_ids::jsonb)
      and (excluded.secret_click_ids is null
        or excluded.secret_click_ids::text = sessions.secret_click_ids::text
        or ${newestClickIds('secret_click_ids')}::jsonb = sessions.secret_click_ids::jsonb)
    )`

/**
 * As `writeSessions`, but without the visits that bring nothing new, which are most of those of
 * returning visitors: a lookup instead of a new version of the row. The last visit of a session is
 * therefore up to an hour older than the visitor's last event. Not for a Citus cluster, where the
 * lookup would ask every node.
 */
export function writeChangedSessions(source: string): string {
  const columns = WRITTEN_COLUMNS.map(name => `excluded.${name}`).join(', ')
  return upsertSessions(`
    select ${columns} from (${selectVisits(source, ', session_is_due')}) excluded
    left join lateral (
      select * from sessions
      where tracker_id = excluded.tracker_id and visitor_id = excluded.visitor_id limit 1
    ) sessions on true
    where sessions.tracker_id is null or ${BRINGS_NOTHING} is not true
    order by excluded.tracker_id, excluded.visitor_id`)
}

function upsertSessions(visits: string): string {
  return `
    insert into sessions (${WRITTEN_COLUMNS.join(', ')}) ${visits}
    on conflict (tracker_id, visitor_id) do update set
      last_seen_at = greatest(sessions.last_seen_at, excluded.last_seen_at),
      landing_source = coalesce(sessions.landing_source, excluded.landing_source),
      click_ids = ${PAGE_CLICK_IDS},
      secret_click_ids = case
        when excluded.secret_click_ids is null then sessions.secret_click_ids
        when sessions.secret_click_ids is null then excluded.secret_click_ids
        else ${newestClickIds('secret_click_ids')} end,
      page_click_ignored_at = case when ${IS_PAGE_CLICK_IGNORED} then excluded.last_seen_at
        else coalesce(excluded.page_click_ignored_at, sessions.page_click_ignored_at) end`
}

interface ForgottenClickIds {
  trackerId: string
  visitorId: string
  names: readonly string[]
  /** A session that was seen later has what the visitor left under a newer consent. */
  seenUntil: Date
}

/** Removes click IDs from the session of a visitor who withdrew consent. Safe to repeat. */
export async function removeSessionClickIds(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, visitorId, names, seenUntil }: ForgottenClickIds,
): Promise<void> {
  if (names.length === 0) return
  await pool.query({
    name: 'remove-session-click-ids',
    text: `update sessions set
             click_ids = (click_ids::jsonb - $3::text[])::json,
             secret_click_ids = (secret_click_ids::jsonb - $3::text[])::json
           where tracker_id = $1::uuid and visitor_id = $2::text
             and last_seen_at <= $4::timestamptz`,
    values: [trackerId, visitorId, arrayLiteral(names), seenUntil.toISOString()],
  })
}
