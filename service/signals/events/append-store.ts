import {
  arrayLiteral,
  type BatchColumn,
  type BatchWrite,
  toArrayParameters,
  trackerIdArray,
  unnestColumns,
  utcDay,
} from '../../runtime/db/sql-fragments.ts'
import {
  APPEND_COLUMNS,
  EVENT_COLUMNS,
  type EventRow,
  pickAppendColumns,
  toEventRows,
} from './event-columns.ts'
import type { EventRecord } from './event-record.ts'
import { countInsertedEvents } from './list-position-store.ts'
import { PAGE_MATCH_WRITES } from './page-match-store.ts'
import { SESSION_COLUMNS, writeSessions } from './session-store.ts'
import { countStages, stageLiteral } from './stage-count-store.ts'
import { WITHDRAWAL_WRITE } from './withdrawal-store.ts'

/** An unchecked assumption behind an event: the person with this key is not blocked. */
interface Assumption {
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

/** The number of parameters of `buildConflictQuery`. */
const CONFLICT_PARAMETER_COUNT =
  WITHDRAWAL_CHECK_COLUMNS.length + ERASURE_CHECK_COLUMNS.length + TRACKER_CHECK_COLUMNS.length

/**
 * An optimistic check, as SQL: the numbers of the events whose assumptions are wrong. A lookup
 * before the commit would cost every commit a round trip, almost always for nothing. Only the
 * snapshot of the statement can give the answer: an erasure publishes itself and then waits for the
 * statements that began earlier, so no identity is stored in between (docs/decisions/0011). A
 * tracker without erasures, as most are, is checked as a whole and needs no keyed digests.
 *
 * `trackerIds` is the parameter with the tracker of each event. `ownTrackers` is the parameter with
 * the distinct trackers on a Citus cluster, where they share one shard. `limit` keeps each lookup
 * separate.
 */
function buildConflictQuery(
  trackerIds: string,
  firstParameter: number,
  ownTrackers: string | null = null,
): string {
  const isOwn = ownTrackers === null ? '' : `and tracker_id = any(${ownTrackers}::uuid[])`
  const alias = 'assumed'
  const erasureParameter = firstParameter + WITHDRAWAL_CHECK_COLUMNS.length
  const trackerParameter = erasureParameter + ERASURE_CHECK_COLUMNS.length
  return `
    select assumed.number
    from ${unnestColumns(WITHDRAWAL_CHECK_COLUMNS, { alias, firstParameter })}
    cross join lateral (
      (select tracker_id from consent_withdrawals
       where tracker_id = assumed.tracker_id and visitor_id = assumed.visitor_id ${isOwn} limit 1)
      union all
      (select tracker_id from page_withdrawal_keys
       where tracker_id = assumed.tracker_id and key = assumed.visitor_id ${isOwn} limit 1)
    ) withdrawal
    union
    select assumed.number
    from ${unnestColumns(ERASURE_CHECK_COLUMNS, { alias, firstParameter: erasureParameter })}
    cross join lateral (
      select tracker_id from erased_identifiers
      where tracker_id = assumed.tracker_id and keyed_digest = assumed.keyed_digest ${isOwn}
      limit 1
    ) erased
    union
    select event.number
    from ${unnestColumns(TRACKER_CHECK_COLUMNS, { alias, firstParameter: trackerParameter })}
    join unnest(${trackerIds}::uuid[]) with ordinality as event(tracker_id, number)
      using (tracker_id)
    cross join lateral (
      select tracker_id from erased_identifiers
      where tracker_id = assumed.tracker_id ${isOwn}
      limit 1
    ) erased`
}

/** The values for `buildConflictQuery`. */
function buildConflictValues(events: readonly EventRecord[]): string[] {
  const notWithdrawn: Assumption[] = []
  const notErased: Assumption[] = []
  const trackers = new Set<string>()
  for (const [index, event] of events.entries()) {
    const { trackerId, assumedNotWithdrawn, assumedNotErased = [] } = event
    const number = index + 1
    for (const key of assumedNotWithdrawn) notWithdrawn.push({ number, trackerId, key })
    if (assumedNotErased === 'all') trackers.add(trackerId)
    else for (const key of assumedNotErased) notErased.push({ number, trackerId, key })
  }
  return [
    ...toArrayParameters(WITHDRAWAL_CHECK_COLUMNS, notWithdrawn),
    ...toArrayParameters(ERASURE_CHECK_COLUMNS, notErased),
    ...toArrayParameters(TRACKER_CHECK_COLUMNS, [...trackers]),
  ]
}

/** `buildConflictQuery` as a separate statement with its parameters, for a Citus cluster. */
export function buildConflictStatement(events: readonly EventRecord[]): {
  text: string
  values: string[]
} {
  const trackers = events.map(({ trackerId }) => trackerId)
  const ownTrackers = `$${CONFLICT_PARAMETER_COUNT + 2}`
  return {
    text: buildConflictQuery('$1', 2, ownTrackers),
    values: [arrayLiteral(trackers), ...buildConflictValues(events), trackerIdArray(events)],
  }
}

const EVENT_NAMES = EVENT_COLUMNS.map(({ name }) => name).join(', ')

/** An event without a time happened when it was received. */
const EVENT_VALUES = EVENT_COLUMNS.map(({ name }) =>
  name === 'event_time' ? 'coalesce(event_time, created_at)' : name,
).join(', ')

/** A key of the person who withdraws consent with an event. */
interface WithdrawnKey {
  number: number
  visitorId: string
}

const WITHDRAWAL_COLUMNS: BatchColumn<WithdrawnKey>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'visitor_id', type: 'text', text: ({ visitorId }) => visitorId },
]

/** The number of parameters of `buildAppendCtes`: rows, withdrawals and assumptions. */
export const APPEND_PARAMETER_COUNT =
  APPEND_COLUMNS.length + WITHDRAWAL_COLUMNS.length + CONFLICT_PARAMETER_COUNT

/**
 * Claims the IDs of events and returns those that were free: a duplicate event leaves no trace.
 * Keys are claimed in order, so two processes with the same events wait for each other instead of
 * deadlocking. The same holds for the visitors and withdrawals below.
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

/** The writes for events whose IDs were free. A duplicate leaves no trace. */
export const EVENT_WRITES = {
  events: {
    columns: EVENT_COLUMNS,
    from: source => `
    insert into events (${EVENT_NAMES})
    select ${EVENT_VALUES}
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
  session_writes: {
    columns: pickAppendColumns('tracker_id', 'created_at', ...SESSION_COLUMNS),
    from: writeSessions,
  },
  ...PAGE_MATCH_WRITES,
  count_writes: {
    columns: pickAppendColumns('tracker_id', 'created_at'),
    from: countInsertedEvents,
  },
  stage_writes: {
    columns: pickAppendColumns('tracker_id', 'created_at'),
    from: source =>
      countStages({
        source,
        trackerId: 'tracker_id',
        at: 'created_at',
        stage: stageLiteral('accepted'),
        reason: `''`,
      }),
  },
} satisfies Record<string, BatchWrite<EventRow>>

/**
 * The common table expressions of the acceptance statement that write events. `entry` has a row for
 * each event with its `number`, counted from 1. `conflicts` holds the numbers of events that are
 * not stored, because they assume wrongly that their person neither withdrew consent nor was
 * erased. `accepted` holds the events whose ID was free: everything is inserted from it. `is true`
 * prevents a join with `keyed`: PostgreSQL estimates ten rows in each and compared a thousand with
 * a thousand.
 */
export function buildAppendCtes(firstParameter: number): string {
  const withdrawalParameter = firstParameter + APPEND_COLUMNS.length
  const events = unnestColumns(APPEND_COLUMNS, { alias: 'given', firstParameter, number: 'number' })
  const withdrawals = unnestColumns(WITHDRAWAL_COLUMNS, {
    alias: 'withdrawal',
    firstParameter: withdrawalParameter,
  })
  const conflictParameter = withdrawalParameter + WITHDRAWAL_COLUMNS.length
  return `
    conflicts as materialized (${buildConflictQuery(`$${firstParameter}`, conflictParameter)}),
    entry as materialized (
      select * from ${events}
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

/** The values for `buildAppendCtes`. Events are distinct, ideally in order of receipt. */
export function buildAppendValues(events: readonly EventRecord[]): string[] {
  return [
    ...toArrayParameters(APPEND_COLUMNS, toEventRows(events)),
    ...toArrayParameters(
      WITHDRAWAL_COLUMNS,
      events.flatMap(({ withdrawnKeys }, index) =>
        withdrawnKeys.map(visitorId => ({ number: index + 1, visitorId })),
      ),
    ),
    ...buildConflictValues(events),
  ]
}
