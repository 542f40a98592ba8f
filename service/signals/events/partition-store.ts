import { sql } from 'kysely'
import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import { setStatisticsTargets } from '../../runtime/db/distribute-tables.ts'
import { withLockTimeout } from '../../runtime/db/sql-fragments.ts'
import { DAY_MILLISECONDS, formatUtcDay, subtractDays } from '../../runtime/util/time.ts'

const WEEK_DAYS = 7
const MONDAY = 1
const PARTITION_LOCK = 'signalbox_partitions'
const CHECK_VIOLATION = '23514'

/**
 * A table that is partitioned by time; `unsampled` columns have no statistics (0006-erasure.sql).
 */
interface PartitionedTable {
  table: 'events' | 'deliveries' | 'event_payloads'
  key: 'created_at' | 'received_on'
  days: number
  unsampled: readonly string[]
}

/**
 * Payloads expire by the day; events and their deliveries after months. Partitions of `deliveries`
 * are created here too, because both tables are partitioned by the same weeks.
 */
const PARTITIONED_TABLES: readonly PartitionedTable[] = [
  {
    table: 'event_payloads',
    key: 'received_on',
    days: 1,
    unsampled: ['visitor_id', 'page_url'],
  },
  {
    table: 'events',
    key: 'created_at',
    days: WEEK_DAYS,
    unsampled: ['event_source', 'body_digest'],
  },
  { table: 'deliveries', key: 'created_at', days: WEEK_DAYS, unsampled: [] },
]

/** The names of the partitions that `ensurePartitions` would create now. */
export async function findMissingPartitions(
  database: Database,
  from: Date,
  days: number,
): Promise<string[]> {
  const missing: string[] = []
  for (const { table, key, days: partitionDays } of PARTITIONED_TABLES) {
    for (const { start } of listPartitionRanges(from, days, partitionDays)) {
      const name = partitionName(table, start)
      const partition = { table, name, from: formatBound(start, key) }
      if (!(await hasPartition(database, partition))) missing.push(name)
    }
  }
  return missing
}

function partitionName(table: string, start: Date): string {
  return `${table}_${formatUtcDay(start).replaceAll('-', '_')}`
}

/** UTC days, the end excluded. */
interface PartitionRange {
  start: Date
  end: Date
}

/** How far a start and the hourly job create partitions. */
export const PARTITION_DAYS_AHEAD = 14

/**
 * Creates the partitions for `days` days from `from` on, so that the default partitions stay empty.
 * A range that already has rows in the default partition keeps them there. When a backup or a long
 * report locks a table, the rest is left to a later call: waiting would block every read and write
 * behind it, and partitions are created long before they are needed.
 */
export async function ensurePartitions(
  database: Database,
  from: Date,
  days: number,
): Promise<void> {
  for (const partitioned of PARTITIONED_TABLES) {
    for (const range of listPartitionRanges(from, days, partitioned.days)) {
      try {
        if (!(await ensurePartition(database, partitioned, range))) return
      } catch (error) {
        // A row of that range was inserted into the default partition since the check.
        if ((error as { code?: string }).code !== CHECK_VIOLATION) throw error
      }
    }
  }
}

function listPartitionRanges(from: Date, days: number, partitionDays: number): PartitionRange[] {
  const ranges: PartitionRange[] = []
  const midnight = startOfUtcDay(from)
  const until = midnight.getTime() + days * DAY_MILLISECONDS
  let start = partitionDays === WEEK_DAYS ? startOfUtcWeek(midnight) : midnight
  while (start.getTime() < until) {
    const end = new Date(start.getTime() + partitionDays * DAY_MILLISECONDS)
    ranges.push({ start, end })
    start = end
  }
  return ranges
}

function startOfUtcDay(time: Date): Date {
  return new Date(`${formatUtcDay(time)}T00:00:00Z`)
}

/** The UTC Monday on or before `midnight`. */
function startOfUtcWeek(midnight: Date): Date {
  const daysSince = (midnight.getUTCDay() - MONDAY + WEEK_DAYS) % WEEK_DAYS
  return new Date(midnight.getTime() - daysSince * DAY_MILLISECONDS)
}

/**
 * Changes partitions in a separate transaction, one process at a time: two processes that create
 * the same partition would both try, despite `if not exists`, and one would fail. Returns false and
 * changes nothing when another process, or a transaction such as a backup, holds the locks for
 * longer than half a second.
 */
export async function changePartitions(
  database: Pick<Database, 'query'>,
  change: (transaction: Database['query']) => Promise<void>,
): Promise<boolean> {
  const changed = await withLockTimeout(database, async transaction => {
    await sql`select pg_advisory_xact_lock(hashtext(${PARTITION_LOCK}::text))`.execute(transaction)
    await change(transaction)
    return true
  })
  return changed ?? false
}

/** Returns false when the tables are locked: see `changePartitions`. */
async function ensurePartition(
  database: Database,
  { table, key, unsampled }: PartitionedTable,
  { start, end }: PartitionRange,
): Promise<boolean> {
  const { query } = database
  const name = partitionName(table, start)
  const from = formatBound(start, key)
  const until = formatBound(end, key)
  if (await hasPartition(database, { table, name, from })) return true
  const { rows } = await sql`
    select 1 from ${sql.table(`${table}_default`)}
    where ${sql.ref(key)} >= ${sql.lit(from)} and ${sql.ref(key)} < ${sql.lit(until)}
    limit 1`.execute(query)
  if (rows.length > 0) return true
  const isCluster = await isCitusCluster(database)
  const isCreated = await changePartitions(database, async transaction => {
    await sql`create table if not exists ${sql.table(`signalbox_store.${name}`)}
      partition of ${sql.table(`signalbox_store.${table}`)}
      for values from (${sql.lit(from)}) to (${sql.lit(until)})`.execute(transaction)
    for (const column of isCluster ? [] : unsampled) {
      await sql`alter table ${sql.table(`signalbox_store.${name}`)}
        alter column ${sql.ref(column)} set statistics 0`.execute(transaction)
    }
  })
  // Citus alters the shards over other connections, which see the partition only after the commit.
  // If the process ends in between, the next `migrate` sets the targets, and until then PostgreSQL
  // samples the columns.
  if (isCluster && isCreated) await setStatisticsTargets(database, [`signalbox_store.${name}`])
  return isCreated
}

/**
 * Whether the partition exists, or the partition from before there were weeks covers the range. A
 * separate statement from the check for rows, because Citus cannot join a catalog with its tables.
 */
async function hasPartition(
  { query }: Database,
  { table, name, from }: { table: string; name: string; from: string },
): Promise<boolean> {
  const { rows } = await sql<{ is_present: boolean; has_legacy: boolean }>`
    select to_regclass(${`signalbox_store.${name}`}) is not null as is_present,
      exists (
        select 1 from pg_inherits
        where inhparent = to_regclass(${`signalbox_store.${table}`})
          and inhrelid = to_regclass(${`signalbox_store.${table}_legacy`})
      ) as has_legacy`.execute(query)
  if (rows[0]?.is_present || !rows[0]?.has_legacy) return rows[0]?.is_present === true
  const legacy = await sql`
    select 1 from legacy_events where until > ${from}::timestamptz`.execute(query)
  return legacy.rows.length > 0
}

function formatBound(time: Date, key: PartitionedTable['key']): string {
  return key === 'received_on' ? formatUtcDay(time) : time.toISOString()
}

interface RetentionCutoffs {
  /** The first UTC day (YYYY-MM-DD) to keep payloads of. */
  payloads: string
  /** The first UTC day to keep events of. */
  ledger: string
}

type RetentionLag = Record<keyof RetentionCutoffs, number>

/** A metrics request omits the figure instead of waiting longer. */
const QUERY_TIMEOUT_MILLISECONDS = 3_000

/**
 * How many days expiry is behind: the days since the oldest partition should have been dropped. 0
 * when none is due. For payloads, rows in the default partition count too.
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
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  }
  const { rows } = await pool.query(statement)
  return rows[0]
}

/** Whether a service has ever started here: the first thing that it creates is partitions. */
export async function hasPartitions({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query(
    `select 1 from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'signalbox_store.event_payloads'::regclass
       and relname <> 'event_payloads_default'
     limit 1`,
  )
  return rows.length > 0
}

/** How long data is kept. A month ends on the same day of the month, or on its last day. */
type RetentionPeriod = { days: number } | { months: number }

/**
 * The first UTC day (YYYY-MM-DD) to keep; data of earlier days expires. Days count whole: with 90
 * days, data received on day D is kept through D + 90 and expires on the day after.
 */
export function computeRetentionCutoff(now: Date, period: RetentionPeriod): string {
  if ('days' in period) return subtractDays(now, period.days)
  const year = now.getUTCFullYear()
  const month = now.getUTCMonth() - period.months
  const lastDayOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return formatUtcDay(new Date(Date.UTC(year, month, Math.min(now.getUTCDate(), lastDayOfMonth))))
}
