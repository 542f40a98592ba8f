import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** Rows that one statement deletes at most, so that nobody waits for it for long. */
export const EXPIRY_ROWS = 1_000

const LOCK_MILLISECONDS_MAX = 500
const LOCK_NOT_AVAILABLE = '55P03'

/** The day partitions of days before `keptSince` (YYYY-MM-DD), the oldest first. */
export async function findExpiredPartitions(
  { pool }: Database,
  { keptSince, limit }: { keptSince: string; limit: number },
): Promise<string[]> {
  const { rows } = await pool.query(
    `select partition.relname as name
     from pg_inherits join pg_class partition on partition.oid = pg_inherits.inhrelid
     where pg_inherits.inhparent = 'event_payloads'::regclass
       and partition.relname ~ '^event_payloads_\\d{4}_\\d{2}_\\d{2}$'
       and right(partition.relname, 10) < $1
     order by partition.relname limit $2`,
    [keptSince.replaceAll('-', '_'), limit],
  )
  return rows.map(({ name }) => name)
}

/**
 * Drops a day. Dropping takes the whole table for a few milliseconds, and who stores or reads
 * payloads meanwhile waits as long as we wait for those before us: at most half a second, and only
 * when somebody holds the table that long, such as a backup. Then it is false, and nothing has
 * happened. PostgreSQL cannot detach concurrently from a table that has a default partition. Taken
 * in turns with those who make partitions (`ensurePartitions`).
 */
export async function dropPartition({ query }: Database, name: string): Promise<boolean> {
  try {
    await query.transaction().execute(async transaction => {
      await sql`set local lock_timeout = ${sql.lit(LOCK_MILLISECONDS_MAX)}`.execute(transaction)
      await sql`select pg_advisory_xact_lock(hashtext('event_payloads'))`.execute(transaction)
      await sql`drop table if exists ${sql.table(name)}`.execute(transaction)
    })
    return true
  } catch (error) {
    if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

/**
 * Deletes a batch of expired payloads from the default partition, where a payload lies whose day
 * nobody had made. Returns how many; rows that somebody else holds are left.
 */
export async function deleteStrayPayloads({ pool }: Database, keptSince: string): Promise<number> {
  const { rowCount } = await pool.query({
    name: 'delete-stray-payloads',
    text: `delete from event_payloads_default where ctid = any(array(
             select ctid from event_payloads_default where received_on < $1::date
             order by received_on limit ${EXPIRY_ROWS} for update skip locked
           ))`,
    values: [keptSince],
  })
  return rowCount ?? 0
}

/** Pages of the table of sessions, from its first to its last. */
export async function countSessionPages({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(
    `select pg_relation_size('sessions') / current_setting('block_size')::bigint as pages`,
  )
  return rows[0].pages
}

/**
 * Deletes a batch of sessions that were last seen before `keptSince`, among some pages of the
 * table. Returns how many. Going through the table page by page needs no index: one on
 * `last_seen_at` would cost every event of a returning visitor more than this costs once a day.
 */
export async function deleteUnseenSessions(
  { pool }: Database,
  { keptSince, fromPage, untilPage }: { keptSince: string; fromPage: number; untilPage: number },
): Promise<number> {
  const { rowCount } = await pool.query({
    name: 'delete-unseen-sessions',
    text: `delete from sessions where ctid = any(array(
             select ctid from sessions
             where ctid >= $1::tid and ctid < $2::tid
               and last_seen_at < $3::date::timestamp at time zone 'UTC'
             limit ${EXPIRY_ROWS} for update skip locked
           ))`,
    values: [`(${fromPage},0)`, `(${untilPage},0)`, keptSince],
  })
  return rowCount ?? 0
}
