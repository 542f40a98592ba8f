import {
  arrayLiteral,
  type BatchColumn,
  type BatchWrite,
  toArrayParameters,
  trackerIdArray,
  unnestColumns,
  utcDay,
} from '../db/sql-fragments.ts'
import {
  APPEND_COLUMNS,
  EVENT_COLUMNS,
  type EventRow,
  pickAppendColumns,
  toEventRows,
} from './event-columns.ts'
import type { EventRecord } from './event-record.ts'
import { countInsertedEvents } from './list-position-store.ts'
import { WITHDRAWAL_WRITE } from './suppression-store.ts'

/** What an entry was made upon without asking: one person's key, or one tracker. */
interface Assumption {
  /** The place of the entry among those of the statement, from 1 on. */
  number: number
  trackerId: string
  key: string
}

const WITHDRAWAL_CHECK_COLUMNS: BatchColumn<Assumption>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'visitor_id', type: 'text', text: ({ key }) => key },
]

const ERASURE_CHECK_COLUMNS: BatchColumn<Assumption>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'keyed_digest', type: 'bytea', text: ({ key }) => `\\x${key}` },
]

const TRACKER_CHECK_COLUMNS: BatchColumn<string>[] = [
  { name: 'tracker_id', type: 'uuid', text: trackerId => trackerId },
]

/** How many parameters `buildConflictQuery` takes. */
const CONFLICT_PARAMETER_COUNT =
  WITHDRAWAL_CHECK_COLUMNS.length + ERASURE_CHECK_COLUMNS.length + TRACKER_CHECK_COLUMNS.length

/**
 * The numbers of the entries that were made upon a wrong presumption, as a query. To ask before
 * would cost every commit a round trip, mostly in vain. And only the statement's own snapshot
 * can answer: an erasure makes itself known and then waits for the statements that began before,
 * so no identity slips in between (docs/decisions/0011). A tracker that has erased no one, as most
 * have, is asked for as a whole and needs no keyed digests. `trackerIds` is the parameter with the
 * tracker of each entry. `limit` keeps each look-up one of its own. `trackerIdArray` is a parameter
 * with the trackers of the entries, each once, for a Citus cluster: all of one shard there.
 */
function buildConflictQuery(
  trackerIds: string,
  firstParameter: number,
  ownTrackers: string | null = null,
): string {
  const isOwn = ownTrackers === null ? '' : `and tracker_id = any(${ownTrackers}::uuid[])`
  const unerasedParameter = firstParameter + WITHDRAWAL_CHECK_COLUMNS.length
  const trackerParameter = unerasedParameter + ERASURE_CHECK_COLUMNS.length
  return `
    select presumed.number
    from ${unnestColumns(WITHDRAWAL_CHECK_COLUMNS, { alias: 'presumed', firstParameter })}
    cross join lateral (
      select tracker_id from consent_withdrawals
      where tracker_id = presumed.tracker_id and visitor_id = presumed.visitor_id ${isOwn}
      limit 1
    ) withdrawal
    union
    select presumed.number
    from ${unnestColumns(ERASURE_CHECK_COLUMNS, { alias: 'presumed', firstParameter: unerasedParameter })}
    cross join lateral (
      select tracker_id from erased_identifiers
      where tracker_id = presumed.tracker_id and keyed_digest = presumed.keyed_digest ${isOwn}
      limit 1
    ) erased
    union
    select entry.number
    from ${unnestColumns(TRACKER_CHECK_COLUMNS, { alias: 'presumed', firstParameter: trackerParameter })}
    join unnest(${trackerIds}::uuid[]) with ordinality as entry(tracker_id, number)
      using (tracker_id)
    cross join lateral (
      select tracker_id from erased_identifiers
      where tracker_id = presumed.tracker_id ${isOwn}
      limit 1
    ) erased`
}

/** The values for `buildConflictQuery`. */
function buildConflictValues(entries: readonly EventRecord[]): string[] {
  const consenting: Assumption[] = []
  const unerased: Assumption[] = []
  const trackers = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    const {
      trackerId,
      assumedNotWithdrawn: presumedConsenting,
      assumedNotErased: presumedUnerased = [],
    } = entry
    const of = { number: index + 1, trackerId }
    for (const key of presumedConsenting) consenting.push({ ...of, key })
    if (presumedUnerased === 'all') trackers.add(trackerId)
    else for (const key of presumedUnerased) unerased.push({ ...of, key })
  }
  return [
    ...toArrayParameters(WITHDRAWAL_CHECK_COLUMNS, consenting),
    ...toArrayParameters(ERASURE_CHECK_COLUMNS, unerased),
    ...toArrayParameters(TRACKER_CHECK_COLUMNS, [...trackers]),
  ]
}

/** `buildConflictQuery` as a statement of its own, for a Citus cluster, with its parameters. */
export function buildConflictStatement(entries: readonly EventRecord[]): {
  text: string
  values: string[]
} {
  const trackers = entries.map(({ trackerId }) => trackerId)
  const own = `$${CONFLICT_PARAMETER_COUNT + 2}`
  return {
    text: buildConflictQuery('$1', 2, own),
    values: [arrayLiteral(trackers), ...buildConflictValues(entries), trackerIdArray(entries)],
  }
}

const EVENT_NAMES = EVENT_COLUMNS.map(({ name }) => name).join(', ')

/** One of the keys under which a withdrawal names the person of an event. */
interface WithdrawnKey {
  number: number
  visitorId: string
}

const WITHDRAWAL_COLUMNS: BatchColumn<WithdrawnKey>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'visitor_id', type: 'text', text: ({ visitorId }) => visitorId },
]

/** The number of an entry's parameters: those of its row, of withdrawals and of presumptions. */
export const APPEND_PARAMETER_COUNT =
  APPEND_COLUMNS.length + WITHDRAWAL_COLUMNS.length + CONFLICT_PARAMETER_COUNT

/**
 * Takes the ids of entries. Answers with those that were free: a repeated event leaves no trace.
 * Keys are taken in their order, so that two processes with the same events wait for each other
 * instead of dead-locking; the same holds for the visitors and withdrawals below.
 */
export const KEY_WRITE: BatchWrite<EventRow> = {
  columns: pickAppendColumns('tracker_id', 'space', 'id_digest', 'created_at'),
  from: source => `
    insert into event_keys (tracker_id, space, id_digest, created_at)
    select tracker_id, space, id_digest, created_at from ${source}
    order by tracker_id, space, id_digest
    on conflict (tracker_id, space, id_digest) do nothing
    returning tracker_id, space, id_digest`,
}

/** What is written of entries whose ids were free. */
export const EVENT_WRITES = {
  events: {
    columns: EVENT_COLUMNS,
    from: source => `
    insert into events (${EVENT_NAMES})
    select ${EVENT_NAMES.replace('event_time', 'coalesce(event_time, created_at)')}
    from ${source}`,
  },
  payloads: {
    columns: pickAppendColumns(
      'tracker_id',
      'event_id',
      'space',
      'created_at',
      'visitor_id',
      'user_data',
      'payload_click_ids',
      'page_url',
      'identifier_keys',
    ),
    from: source => `
    insert into event_payloads
      (tracker_id, event_id, space, created_at, received_on, visitor_id, user_data, click_ids,
       page_url, identifier_keys)
    select tracker_id, event_id, space, created_at, ${utcDay('created_at')}, visitor_id,
      user_data, payload_click_ids, page_url, identifier_keys::integer[]
    from ${source} where user_data is not null`,
  },
  // A click that is seen again keeps the time at which it was first seen (domain reference B3).
  sightings: {
    columns: pickAppendColumns(
      'tracker_id',
      'created_at',
      'session_visitor_id',
      'session_ordinal',
      'first_seen_at',
      'landing_source',
      'session_click_ids',
    ),
    from: source => `
    insert into sessions
      (tracker_id, visitor_id, first_seen_at, last_seen_at, landing_source, click_ids)
    select distinct on (tracker_id, session_visitor_id)
      tracker_id, session_visitor_id, coalesce(first_seen_at, created_at), created_at,
      landing_source, session_click_ids
    from ${source} where session_visitor_id is not null
    order by tracker_id, session_visitor_id, session_ordinal desc
    on conflict (tracker_id, visitor_id) do update set
      last_seen_at = greatest(sessions.last_seen_at, excluded.last_seen_at),
      landing_source = coalesce(sessions.landing_source, excluded.landing_source),
      click_ids = (sessions.click_ids::jsonb || excluded.click_ids::jsonb || case
        when split_part(sessions.click_ids ->> 'fbc', '.', 4) =
             split_part(excluded.click_ids ->> 'fbc', '.', 4)
        then jsonb_set('{}', '{fbc}', coalesce(sessions.click_ids::jsonb -> 'fbc', 'null'))
        else '{}' end)::json`,
  },
  counted: { columns: pickAppendColumns('tracker_id', 'created_at'), from: countInsertedEvents },
} satisfies Record<string, BatchWrite<EventRow>>

/**
 * The ledger's part of the acceptance statement, as common table expressions. `entry` has a row
 * for each entry with its `number`, from 1 on; `conflicts` holds the numbers of those that were
 * made as if their person had neither withdrawn consent nor been erased, and wrongly so
 * (presumption-store.ts), which are not stored; `accepted` holds the entries whose id was not
 * taken: everything is inserted from it. `is true` keeps PostgreSQL from making a join of the
 * look-up in `keyed`: it takes both lists for ten rows, and compared a thousand with each other.
 */
export function buildAppendCtes(firstParameter: number): string {
  const withdrawalParameter = firstParameter + APPEND_COLUMNS.length
  const withdrawals = unnestColumns(WITHDRAWAL_COLUMNS, {
    alias: 'withdrawal',
    firstParameter: withdrawalParameter,
  })
  const presumptionParameter = withdrawalParameter + WITHDRAWAL_COLUMNS.length
  return `
    conflicts as materialized (${buildConflictQuery(`$${firstParameter}`, presumptionParameter)}),
    entry as materialized (
      select * from ${unnestColumns(APPEND_COLUMNS, { alias: 'given', firstParameter, number: 'number' })}
    ),
    keyed as (${KEY_WRITE.from('entry where number <> all(array(select number from conflicts))')}),
    accepted as materialized (
      select * from entry
      where ((tracker_id, space, id_digest) in (
        select tracker_id, space, id_digest from keyed
      )) is true
    ),
    withdrawn as (
      select accepted.tracker_id, withdrawal.visitor_id, accepted.created_at
      from ${withdrawals}
      join accepted using (number)
    ),
    withdrawals as (${WITHDRAWAL_WRITE.from('withdrawn')}),
    ${Object.entries(EVENT_WRITES)
      .map(([name, { from }]) => `${name} as (${from('accepted')})`)
      .join(',')}`
}

/** The values for `buildAppendCtes`. Entries are distinct, best in order of receipt. */
export function buildAppendValues(entries: readonly EventRecord[]): string[] {
  return [
    ...toArrayParameters(APPEND_COLUMNS, toEventRows(entries)),
    ...toArrayParameters(
      WITHDRAWAL_COLUMNS,
      entries.flatMap(({ withdrawnKeys: withdrawalOf }, index) =>
        withdrawalOf.map(visitorId => ({ number: index + 1, visitorId })),
      ),
    ),
    ...buildConflictValues(entries),
  ]
}
