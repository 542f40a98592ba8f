import type { Database } from '../db/database.ts'

export interface RetentionCutoffs {
  /** The first UTC day (YYYY-MM-DD) whose payloads are kept, and the first whose events are. */
  payloads: string
  ledger: string
}

export type RetentionLag = Record<keyof RetentionCutoffs, number>

/** A metrics request goes without the figure rather than wait longer. */
const ANSWER_MILLISECONDS_MAX = 3_000

/**
 * By how many days expiry is behind: how long ago the oldest partition should have been dropped. 0
 * when none is due. Rows in the default partitions, which expire one by one, count for payloads.
 */
export async function readRetentionLag(
  { pool }: Database,
  { payloads, ledger }: RetentionCutoffs,
): Promise<RetentionLag> {
  const statement = {
    text: `with partition as (
             select parent.relname as parent,
               to_date(right(child.relname, 10), 'YYYY_MM_DD') as starts_on
             from pg_inherits
             join pg_class parent on parent.oid = pg_inherits.inhparent
             join pg_class child on child.oid = pg_inherits.inhrelid
             where parent.relnamespace = 'signalbox_store'::regnamespace
               and child.relname ~ '_\\d{4}_\\d{2}_\\d{2}$'
           )
           select
             $1::date - least(
               $1::date,
               (select min(starts_on) + 1 from partition where parent = 'event_payloads'),
               (select min(received_on) + 1 from event_payloads_default)
             ) as payloads,
             $2::date - least(
               $2::date,
               (select min(starts_on) + 7 from partition where parent = 'events')
             ) as ledger`,
    values: [payloads, ledger],
    query_timeout: ANSWER_MILLISECONDS_MAX,
  }
  const { rows } = await pool.query(statement)
  return rows[0]
}

/** The highest id that any tracker has given to a delivery, or has taken to give. */
export async function readLastDeliveryId({ pool }: Database): Promise<number> {
  const statement = {
    text: 'select coalesce(max(last_id), 0) as last_id from delivery_id_counters',
    query_timeout: ANSWER_MILLISECONDS_MAX,
  }
  const { rows } = await pool.query(statement)
  return rows[0].last_id
}
