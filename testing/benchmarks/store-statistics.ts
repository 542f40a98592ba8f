import type pg from 'pg'
import type { Database } from '../../service/runtime/db/database.ts'

/** What PostgreSQL has written since its creation. */
export interface WalPosition {
  bytes: number
  /** Full-page images: the first change of each page after a checkpoint. */
  fullPages: number
  checkpoints: number
}

export async function readWalPosition(database: Database): Promise<WalPosition> {
  await publishStatistics(database)
  const { rows } = await database.pool.query(
    `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint as bytes,
       (select wal_fpi from pg_stat_wal) as full_pages,
       (select num_timed + num_requested from pg_stat_checkpointer) as checkpoints`,
  )
  const { bytes, full_pages: fullPages, checkpoints } = rows[0]
  return { bytes, fullPages, checkpoints }
}

/** Bytes on disk by table and index; partitions are included in their table. */
export async function readStoreBytes({ pool }: Database): Promise<Map<string, number>> {
  const { rows } = await pool.query(STORE_BYTES)
  return new Map(rows.map(({ name, bytes }) => [name, bytes]))
}

/** Statistics of a table and its partitions. */
export interface TableUpdates {
  updates: number
  /** Heap-only updates, which change no index. */
  heapOnly: number
  deadRows: number
}

export async function readTableUpdates(database: Database): Promise<Map<string, TableUpdates>> {
  await publishStatistics(database)
  const { rows } = await database.pool.query(
    `select coalesce(pg_partition_root(relid), relid)::regclass::text as name,
       sum(n_tup_upd)::bigint as updates, sum(n_tup_hot_upd)::bigint as heap_only,
       sum(n_dead_tup)::bigint as dead_rows
     from pg_stat_user_tables group by 1`,
  )
  return new Map(
    rows.map(({ name, updates, heap_only: heapOnly, dead_rows: deadRows }) => [
      name,
      { updates, heapOnly, deadRows },
    ]),
  )
}

/** Statistics of a connection are delayed by at least a second, unless they are flushed. */
async function publishStatistics({ pool }: Database): Promise<void> {
  const clients: pg.PoolClient[] = []
  try {
    for (let number = 0; number < (pool.options.max ?? 1); number += 1) {
      clients.push(await pool.connect())
    }
    for (const client of clients) await client.query('select pg_stat_force_next_flush()')
  } finally {
    for (const client of clients) client.release()
  }
}

/** Indexes are identified by their columns, because names differ between partitions. */
const STORE_BYTES = `
  select coalesce(pg_partition_root(class.oid), class.oid)::regclass::text as name,
    sum(pg_table_size(class.oid))::bigint as bytes
  from pg_class class join pg_namespace namespace on namespace.oid = class.relnamespace
  where class.relkind = 'r' and namespace.nspname !~ '^(pg_|information_schema|patterns)'
  group by 1
  union all
  select coalesce(pg_partition_root(class.oid), class.oid)::regclass || ' (' || keys.columns || ')',
    sum(pg_relation_size(index.indexrelid))::bigint
  from pg_index index
  join pg_class class on class.oid = index.indrelid and class.relkind = 'r'
  join pg_namespace namespace on namespace.oid = class.relnamespace
  cross join lateral (
    select string_agg(pg_get_indexdef(index.indexrelid, number, true), ', ' order by number)
      as columns
    from generate_series(1, index.indnkeyatts) as number
  ) keys
  where namespace.nspname !~ '^(pg_|information_schema|patterns)'
  group by 1`
