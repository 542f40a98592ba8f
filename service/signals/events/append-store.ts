import { toBinaryParameters, unnestBinary } from '../../runtime/db/binary-arrays.ts'
import { type BatchColumn, type BatchWrite, utcDay } from '../../runtime/db/sql-fragments.ts'
import { CONFLICT_CHECK, CONFLICT_PARAMETER_COUNT } from './conflict-store.ts'
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
import { SESSION_COLUMNS, writeChangedSessions, writeSessions } from './session-store.ts'
import { countStages, stageLiteral } from './stage-count-store.ts'
import { WITHDRAWAL_WRITE } from './withdrawal-store.ts'

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
  const events = unnestBinary(APPEND_COLUMNS, { alias: 'given', firstParameter, number: 'number' })
  const withdrawals = unnestBinary(WITHDRAWAL_COLUMNS, {
    alias: 'withdrawal',
    firstParameter: withdrawalParameter,
  })
  const conflictParameter = withdrawalParameter + WITHDRAWAL_COLUMNS.length
  return `
    conflicts as materialized (${CONFLICT_CHECK.query(`$${firstParameter}`, conflictParameter)}),
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
    ${Object.entries({ ...EVENT_WRITES, session_writes: { from: writeChangedSessions } })
      .map(([name, { from }]) => `${name} as (${from('accepted')})`)
      .join(',')}`
}

/** The values for `buildAppendCtes`. Events are distinct, ideally in order of receipt. */
export function buildAppendValues(events: readonly EventRecord[]): Buffer[] {
  return [
    ...toBinaryParameters(APPEND_COLUMNS, toEventRows(events)),
    ...toBinaryParameters(
      WITHDRAWAL_COLUMNS,
      events.flatMap(({ withdrawnKeys }, index) =>
        withdrawnKeys.map(visitorId => ({ number: index + 1, visitorId })),
      ),
    ),
    ...CONFLICT_CHECK.toValues(events),
  ]
}
