import { type Database, openDatabase } from '../../service/runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../service/runtime/util/time.ts'
import { PURCHASE } from '../../service/signals/events/event-record.ts'
import { orderDigest } from '../../service/signals/events/page-match-store.ts'
import { ensurePartitions } from '../../service/signals/events/partition-store.ts'
import { pollUntil } from '../fixtures/wait-until.ts'
import { forEachConcurrently, withoutIndexes } from './index-rebuild.ts'
import { indexKeyExpression } from './listed-events.ts'

/** Rows to copy from a few purchases that the service accepted and delivered. */
export interface CopiedRows {
  trackerId: string
  count: number
  /** The rows are spread evenly over this time, numbered in order of receipt. */
  from: Date
  until: Date
  /** Event IDs are derived from this text; each set of rows needs its own. */
  salt: string
  /** The ID of the first delivery. */
  firstDeliveryId: number
  /** SQL expressions that replace the copied values of columns. */
  changes?: Record<string, string>
}

/** Every table with a row per event. */
const TABLES = ['event_keys', 'order_keys', 'events', 'event_payloads', 'deliveries', 'sessions']
/** Those that a list of IDs reads. */
export const LISTED_TABLES = ['events']
/** Those with rows of failed deliveries. */
const FAILURE_TABLES = ['event_keys', 'order_keys', 'events', 'event_payloads', 'deliveries']
/** Columns with values in random order. */
const RANDOM_COLUMNS = ['id_digest', 'order_digest', 'visitor_id']
/** As long as the order IDs of the load. */
const ORDER_ID = `'ORD-' || left(numbered.hash, 8)`
/** All other columns are copied, so rows are as wide as those of real purchases. */
const VALUES: Record<string, string> = {
  tracker_id: '$1::uuid',
  event_id: 'numbered.event_id',
  id_digest: 'event_id_digest(numbered.event_id)',
  order_id: ORDER_ID,
  order_digest: orderDigest(`'${PURCHASE}'`, ORDER_ID),
  visitor_id: `'v-' || left(numbered.hash, 21)`,
  id: 'numbered.delivery_id',
  created_at: 'numbered.created_at',
  event_time: 'numbered.created_at',
  first_sent_at: 'numbered.created_at',
  updated_at: 'numbered.created_at',
  first_seen_at: 'numbered.created_at',
  last_seen_at: 'numbered.created_at',
  received_on: `(numbered.created_at at time zone 'UTC')::date`,
  identifier_keys: `array[${[1, 9, 17, 25]
    .map(place => indexKeyExpression('$1::uuid', `substr(numbered.hash, ${place}, 8)`))
    .join(', ')}]`,
}

/** `$1` to `$7` are the parameters of `copyRows`. The service stores and looks up milliseconds. */
const NUMBERED = `
  select number, hash, hash::uuid::text as event_id, $7::bigint + number as delivery_id,
    date_trunc('milliseconds',
      $4::timestamptz + make_interval(secs => number * $5::double precision)) as created_at
  from (
    select number, md5($6::text || number) as hash
    from generate_series($2::bigint, $3::bigint) as number
  ) hashed`

const ROWS_PER_STATEMENT = 500_000
/** Tables are filled two at a time, and indexes are built two at a time. */
const CONNECTIONS_MAX = 2
const LOAD_SETTINGS = `set maintenance_work_mem = '512MB'; set synchronous_commit = off`

/**
 * Keeps all rows of the tracker as patterns to copy: purchases of every width in the load.
 */
export async function storePatternRows({ pool }: Database, trackerId: string): Promise<void> {
  await pool.query('create schema patterns')
  for (const table of TABLES) {
    await pool.query(
      `create table patterns.${table} as
       select row_number() over () - 1 as number_of_pattern, * from ${table} where false`,
    )
    await pool.query(
      `insert into patterns.${table}
       select row_number() over () - 1, * from ${table} where tracker_id = $1`,
      [trackerId],
    )
    await pool.query(`analyze patterns.${table}`)
  }
}

/** Fills a store before it is measured: all rows first, then the indexes. */
export async function storeHistory(
  connectionString: string,
  rows: CopiedRows,
  tables: readonly string[] = TABLES,
): Promise<void> {
  const database = openLoadDatabase(connectionString)
  try {
    await preparePartitions(database, rows)
    const indexed = { tables, randomColumns: RANDOM_COLUMNS }
    await withoutIndexes(database, indexed, () => copyRows(database, rows, tables))
    await countRows(database, rows)
    await settleRows(database)
  } finally {
    await database.close()
  }
}

/** Adds deliveries that failed within the last days and can be replayed. */
export async function storeFailures(
  connectionString: string,
  rows: Omit<CopiedRows, 'changes'>,
): Promise<void> {
  const database = openLoadDatabase(connectionString)
  const changes = {
    status: `'failed:permanent'`,
    status_reason: `'failed:permanent'`,
    replayable_until: `numbered.created_at + interval '7 days'`,
  }
  try {
    await preparePartitions(database, rows)
    await copyRows(database, { ...rows, changes }, FAILURE_TABLES)
    await countRows(database, { ...rows, changes })
  } finally {
    await database.close()
  }
}

/** Vacuums and analyzes, as autovacuum would have in a store that grew to this size. */
export async function settleStore(connectionString: string): Promise<void> {
  const database = openLoadDatabase(connectionString)
  await settleRows(database).finally(() => database.close())
}

/**
 * Twice, each time when no transaction in the database needs older rows: a concurrent automatic
 * `ANALYZE` keeps vacuum from marking new rows as visible to all, and then a page of a list reads
 * every row that it skips.
 */
async function settleRows({ pool }: Database): Promise<void> {
  for (const vacuum of ['vacuum (analyze)', 'vacuum']) {
    await pollUntil(
      async () => (await pool.query(COUNT_READERS)).rows[0].count === 0,
      READERS_SECONDS_MAX,
    )
    await pool.query(vacuum)
  }
  await pool.query('checkpoint')
}

const COUNT_READERS = `
  select count(*) as count from pg_stat_activity
  where datname = current_database() and backend_xmin is not null and pid <> pg_backend_pid()`

/** Longer than an automatic `ANALYZE` of a large table. */
const READERS_SECONDS_MAX = 60

/** No statement timeout. */
function openLoadDatabase(connectionString: string): Database {
  const database = openDatabase({
    connectionString,
    connectionsMax: CONNECTIONS_MAX,
    applicationName: 'signalbox bench history',
    onIdleError: () => {},
    hasNoTimeouts: true,
  })
  database.pool.options.onConnect = client => client.query(LOAD_SETTINGS)
  return database
}

async function preparePartitions(database: Database, { from, until }: CopiedRows): Promise<void> {
  const days = Math.ceil((until.getTime() - from.getTime()) / DAY_MILLISECONDS)
  await ensurePartitions(database, from, days + 2)
}

async function copyRows(
  { pool }: Database,
  rows: CopiedRows,
  tables: readonly string[],
): Promise<void> {
  const { trackerId, count, from, salt, firstDeliveryId } = rows
  await forEachConcurrently(tables, CONNECTIONS_MAX, async table => {
    const statement = await copyStatement(pool, table, rows.changes ?? {})
    for (let first = 0; first < count; first += ROWS_PER_STATEMENT) {
      const last = Math.min(first + ROWS_PER_STATEMENT, count) - 1
      const values = [trackerId, first, last, from, stepSeconds(rows), salt, firstDeliveryId]
      await pool.query(statement, values)
    }
  })
}

function stepSeconds({ count, from, until }: CopiedRows): number {
  return (until.getTime() - from.getTime()) / 1_000 / count
}

async function copyStatement(
  pool: Database['pool'],
  table: string,
  changes: Record<string, string>,
): Promise<string> {
  const { rows } = await pool.query(
    `select attname::text as name, (select count(*) from patterns.${table}) as patterns
     from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and not attisdropped`,
    [table],
  )
  const columns: string[] = rows.map(({ name }) => name)
  const values = { ...VALUES, ...changes }
  return `
    insert into ${table} (${columns.join(', ')})
    select ${columns.map(name => values[name] ?? `pattern.${name}`).join(', ')}
    from (${NUMBERED}) numbered (number, hash, event_id, delivery_id, created_at)
    join patterns.${table} pattern on pattern.number_of_pattern = number % ${rows[0].patterns}`
}

async function countRows({ pool }: Database, rows: CopiedRows): Promise<void> {
  const values = [rows.trackerId, rows.count, rows.from, stepSeconds(rows)]
  const isFailed = rows.changes?.status !== undefined
  await pool.query(COUNT_EVENTS, values)
  await pool.query(COUNT_DELIVERIES, [...values, isFailed ? 0 : 1])
}

const BY_DAY = `
  select (($3::timestamptz + make_interval(secs => number * $4::double precision))
    at time zone 'UTC')::date as day, count(*) as events
  from generate_series(0, $2::bigint - 1) as number group by 1`

const COUNT_EVENTS = `
  insert into event_counts (tracker_id, received_on, slot, events)
  select $1::uuid, day, 0, events from (${BY_DAY}) counted
  on conflict (tracker_id, received_on, slot)
    do update set events = event_counts.events + excluded.events,
      unindexed_since = excluded.unindexed_since`

const COUNT_DELIVERIES = `
  insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
  select $1::uuid, day, 0, events, events * $5::bigint from (${BY_DAY}) counted
  on conflict (tracker_id, planned_on, slot) do update set
    planned = delivery_counts.planned + excluded.planned,
    accepted = delivery_counts.accepted + excluded.accepted`
