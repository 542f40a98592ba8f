import { findPlacement, PLACED_TABLES, STORE_SCHEMAS, type TablePlacement } from './citus-tables.ts'
import { type Database, hasCitus, PLANNER_SETTINGS } from './database.ts'

/**
 * On a database with the Citus extension: gives every table its place in the cluster
 * (`citus-tables.ts`). To be called on the coordinator after the migrations and in their turn.
 * Tables that have their place keep it, so it may be called again at any time; rows that are there
 * move with their table. Returns the tables that it placed. On any other database it does nothing.
 */
export async function distributeTables(database: Database): Promise<string[]> {
  if (!(await hasCitus(database))) return []
  const placed: string[] = []
  for (const { table, placement } of await misplacedTables(database)) {
    // An earlier table may have taken it along: a foreign key between the two does that.
    if ((await currentPlacement(database, table)) === placement) continue
    await placeTable(database, table, placement)
    placed.push(table)
  }
  await setStatisticsTargets(database)
  await setPlannerSettings(database)
  return placed
}

/**
 * The settings of our own connections do not reach those that the coordinator opens to other nodes,
 * so they become defaults of our account in this database; Citus takes them to every node.
 */
async function setPlannerSettings({ pool }: Database): Promise<void> {
  for (const setting of PLANNER_SETTINGS) {
    const { rows } = await pool.query(
      `select format('alter role %I in database %I set %s', current_user, current_database(),
         $1::text) as command`,
      [setting],
    )
    await pool.query(rows[0].command)
  }
}

interface Misplaced {
  /** With its schema, quoted. */
  table: string
  placement: Exclude<TablePlacement, 'local'>
}

/** In the order of the list. */
async function misplacedTables(database: Database): Promise<Misplaced[]> {
  const misplaced = new Map<string, Misplaced[]>()
  for (const { schema, name, table, current } of await readTables(database)) {
    const placement = findPlacement(schema, name)
    if (placement === null || placement === 'local' || placement === current) continue
    const listed = STORE_SCHEMAS.includes(schema) ? name : `${schema}.${name}`
    misplaced.set(listed, [...(misplaced.get(listed) ?? []), { table, placement }])
  }
  return PLACED_TABLES.flatMap(({ name }) => misplaced.get(name) ?? [])
}

export interface StoreTable {
  schema: string
  name: string
  /** With its schema, quoted. */
  table: string
}

/** Every table of ours but partitions and those of extensions and of the jobs. */
export async function listTables({ pool }: Database): Promise<StoreTable[]> {
  const { rows } = await pool.query(
    `select space.nspname as schema, relation.relname as name,
       format('%I.%I', space.nspname, relation.relname) as table
     from pg_class relation join pg_namespace space on space.oid = relation.relnamespace
     where relation.relkind in ('r', 'p') and not relation.relispartition
       and space.nspname = any($1::text[])
       and not exists (
         select 1 from pg_depend
         where pg_depend.objid = relation.oid and pg_depend.classid = 'pg_class'::regclass
           and pg_depend.deptype = 'e'
       )
     order by 1, 2`,
    [[...STORE_SCHEMAS, 'people']],
  )
  return rows
}

async function readTables(
  database: Database,
): Promise<(StoreTable & { current: TablePlacement })[]> {
  const tables = await listTables(database)
  const { rows } = await database.pool.query(
    `select format('%I.%I', space.nspname, relation.relname) as table, ${PLACEMENT} as current
     from pg_dist_partition place
     join pg_class relation on relation.oid = place.logicalrelid
     join pg_namespace space on space.oid = relation.relnamespace`,
  )
  const current = new Map(rows.map(row => [row.table, row.current]))
  return tables.map(table => ({ ...table, current: current.get(table.table) ?? 'local' }))
}

/** As the catalogue of Citus 11 to 13 writes it. */
const PLACEMENT = `case
    when place.partmethod = 'h' then 'distributed'
    when place.partmethod = 'n' and place.repmodel = 't' then 'reference'
    else 'managed_local'
  end`

async function currentPlacement({ pool }: Database, table: string): Promise<TablePlacement> {
  const { rows } = await pool.query(
    `select ${PLACEMENT} as current from pg_dist_partition place
     where place.logicalrelid = $1::text::regclass`,
    [table],
  )
  return rows[0]?.current ?? 'local'
}

async function placeTable({ pool }: Database, table: string, placement: Misplaced['placement']) {
  switch (placement) {
    case 'reference':
      await setReplicaIdentity(pool, table)
      return pool.query('select create_reference_table($1::text::regclass)', [table])
    case 'managed_local':
      return pool.query(
        `select citus_add_local_table_to_metadata($1::text::regclass,
           cascade_via_foreign_keys => true)`,
        [table],
      )
    case 'distributed':
      return pool.query(
        `select create_distributed_table($1::text::regclass, 'tracker_id',
           colocate_with => coalesce($2::text, 'none'))`,
        [table, await firstDistributed(pool)],
      )
  }
}

/** A table without a primary key cannot be copied to a node that is added. */
async function setReplicaIdentity(pool: Database['pool'], table: string): Promise<void> {
  const { rows } = await pool.query(
    `select 1 from pg_index where indrelid = $1::text::regclass and indisprimary`,
    [table],
  )
  if (rows.length === 0) await pool.query(`alter table ${table} replica identity full`)
}

/** A table that the next one is put beside; null for the first. */
async function firstDistributed(pool: Database['pool']): Promise<string | null> {
  const { rows } = await pool.query(
    `select format('%I.%I', space.nspname, relation.relname) as table
     from pg_dist_partition place
     join pg_class relation on relation.oid = place.logicalrelid
     join pg_namespace space on space.oid = relation.relnamespace
     where place.partmethod = 'h' and space.nspname = any($1::text[])
       and not relation.relispartition
     order by place.logicalrelid limit 1`,
    [STORE_SCHEMAS],
  )
  return rows[0]?.table ?? null
}

/**
 * Repeats on the shards how much is remembered of a column, as the migrations said of its table or
 * of one of its partitions: Citus refuses `set statistics` on a table, and a partition that is
 * made or a shard that is moved begins with the default. On the partitions named, or on all
 * tables. Not to be called in the transaction that makes the partition: its shards are changed
 * over other connections.
 */
export async function setStatisticsTargets(
  { pool }: Database,
  tables: readonly string[] | null = null,
): Promise<void> {
  const { rows } = await pool.query(
    `select table_name as table, run.shardid as shard, run.result
     from (
       select table_name, oid, 'alter table %s ' || string_agg(
           format('alter column %I set statistics %s', attname, target), ', '
         ) as command
       from (
         select format('%I.%I', space.nspname, relation.relname) as table_name, relation.oid,
           col.attname, min(col.attstattarget) as target
         from pg_dist_partition place
         join pg_class relation on relation.oid = place.logicalrelid
         join pg_namespace space on space.oid = relation.relnamespace
         cross join lateral (
           select relation.oid as relid
           union select relid from pg_partition_tree(pg_partition_root(relation.oid))
         ) sibling
         join pg_attribute col on col.attrelid = sibling.relid
           and col.attnum > 0 and not col.attisdropped and col.attstattarget >= 0
         where place.partmethod = 'h' and relation.relkind = 'r'
           and ($1::text[] is null or relation.oid = any($1::text[]::regclass[]))
         group by 1, 2, 3
       ) kept
       group by 1, 2
     ) wanted
     cross join lateral run_command_on_shards(wanted.oid::regclass, wanted.command) run
     where not run.success`,
    [tables],
  )
  const [failed] = rows
  if (failed) throw new Error(`shard ${failed.shard} of ${failed.table}: ${failed.result}`)
}
