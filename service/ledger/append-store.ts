import { utcDay } from '../db/count-slot.ts'
import { arraysOf, type BatchColumn, type BatchWrite, unnestOf } from '../db/row-arrays.ts'
import {
  ENTRY_COLUMNS,
  type EntryRow,
  EVENT_COLUMNS,
  entryColumns,
  entryRows,
} from './entry-rows.ts'
import type { LedgerEntry } from './ledger-entry.ts'
import { countInserted } from './position-store.ts'
import { misjudgedEntries, PRESUMPTION_PARAMETERS, presumptionValues } from './presumption-store.ts'
import { WITHDRAWAL_WRITE } from './withdrawal-store.ts'

const EVENT_NAMES = EVENT_COLUMNS.map(({ name }) => name).join(', ')

/** One of the keys under which a withdrawal names the person of an event. */
interface PersonKey {
  number: number
  visitorId: string
}

const WITHDRAWAL_COLUMNS: BatchColumn<PersonKey>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'visitor_id', type: 'text', text: ({ visitorId }) => visitorId },
]

/** The number of an entry's parameters: those of its row, of withdrawals and of presumptions. */
export const APPEND_PARAMETERS =
  ENTRY_COLUMNS.length + WITHDRAWAL_COLUMNS.length + PRESUMPTION_PARAMETERS

/**
 * Takes the ids of entries. Answers with those that were free: a repeated event leaves no trace.
 * Keys are taken in their order, so that two processes with the same events wait for each other
 * instead of dead-locking; the same holds for the visitors and withdrawals below.
 */
export const KEY_WRITE: BatchWrite<EntryRow> = {
  columns: entryColumns('tracker_id', 'space', 'id_digest', 'created_at'),
  from: source => `
    insert into event_keys (tracker_id, space, id_digest, created_at)
    select tracker_id, space, id_digest, created_at from ${source}
    order by tracker_id, space, id_digest
    on conflict (tracker_id, space, id_digest) do nothing
    returning tracker_id, space, id_digest`,
}

/** What is written of entries whose ids were free. */
export const ENTRY_WRITES = {
  events: {
    columns: EVENT_COLUMNS,
    from: source => `
    insert into events (${EVENT_NAMES})
    select ${EVENT_NAMES.replace('event_time', 'coalesce(event_time, created_at)')}
    from ${source}`,
  },
  payloads: {
    columns: entryColumns(
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
    columns: entryColumns(
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
  counted: { columns: entryColumns('tracker_id', 'created_at'), from: countInserted },
} satisfies Record<string, BatchWrite<EntryRow>>

/**
 * The ledger's part of the acceptance statement, as common table expressions. `entry` has a row
 * for each entry with its `number`, from 1 on; `misjudged` holds the numbers of those that were
 * made as if their person had neither withdrawn consent nor been erased, and wrongly so
 * (presumption-store.ts), which are not stored; `accepted` holds the entries whose id was not
 * taken: everything is inserted from it. `is true` keeps PostgreSQL from making a join of the
 * look-up in `keyed`: it takes both lists for ten rows, and compared a thousand with each other.
 */
export function appendExpressions(firstParameter: number): string {
  const withdrawalParameter = firstParameter + ENTRY_COLUMNS.length
  const withdrawals = unnestOf(WITHDRAWAL_COLUMNS, {
    alias: 'withdrawal',
    firstParameter: withdrawalParameter,
  })
  const presumptionParameter = withdrawalParameter + WITHDRAWAL_COLUMNS.length
  return `
    misjudged as materialized (${misjudgedEntries(`$${firstParameter}`, presumptionParameter)}),
    entry as materialized (
      select * from ${unnestOf(ENTRY_COLUMNS, { alias: 'given', firstParameter, number: 'number' })}
    ),
    keyed as (${KEY_WRITE.from('entry where number <> all(array(select number from misjudged))')}),
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
    ${Object.entries(ENTRY_WRITES)
      .map(([name, { from }]) => `${name} as (${from('accepted')})`)
      .join(',')}`
}

/** The values for `appendExpressions`. Entries are distinct, best in order of receipt. */
export function appendValues(entries: readonly LedgerEntry[]): string[] {
  return [
    ...arraysOf(ENTRY_COLUMNS, entryRows(entries)),
    ...arraysOf(
      WITHDRAWAL_COLUMNS,
      entries.flatMap(({ withdrawalOf }, index) =>
        withdrawalOf.map(visitorId => ({ number: index + 1, visitorId })),
      ),
    ),
    ...presumptionValues(entries),
  ]
}
