import { type Database, hasCitus, PLANNER_SETTINGS } from './database.ts'
import type { TablePlacement, TablePlacements } from './tables.ts'

/** Schemas whose tables have no schema in their names. */
const STORE_SCHEMAS = ['signalbox_store', 'public']

/** The tables that the migrator of `migrate.ts` creates itself. */
const MIGRATOR_PLACEMENTS: TablePlacements = {
  kysely_migration: 'local',
  kysely_migration_lock: 'local',
}

/** Null for a table that the placements do not name. */
export function findPlacement(
  placements: readonly TablePlacements[],
  { schema, name }: Pick<StoreTable, 'schema' | 'name'>,
): TablePlacement | null {
  const placed = [MIGRATOR_PLACEMENTS, ...placements].find(each =>
    Object.hasOwn(each, nameOfTable({ schema, name })),
  )
  return placed?.[nameOfTable({ schema, name })] ?? null
}

/**
 * Distributes the tables over a Citus cluster as the placements say, with the rows that they have.
 * Does nothing on a database without Citus. Call it on the coordinator, after the migrations and
 * under their lock. Idempotent. Returns the tables that it placed.
 */
export async function distributeTables(
  database: Database,
  placements: readonly TablePlacements[],
): Promise<string[]> {
  if (!(await hasCitus(database))) return []
  const placed: string[] = []
  for (const { table, placement } of await findMisplacedTables(database, placements)) {
    // A foreign key may have placed it together with an earlier table.
    if ((await readPlacement(database, table)) === placement) continue
    await placeTable(database, table, placement)
    placed.push(table)
  }
  await setStatisticsTargets(database)
  await setPlannerSettings(database)
  return placed
}

/**
 * The settings of a connection do not reach those that the coordinator opens to other nodes, so
 * they become defaults of the account in this database, which Citus copies to every node.
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

interface MisplacedTable {
  /** With its schema, quoted. */
  table: string
  placement: Exclude<TablePlacement, 'local'>
}

/** Statements on distributed tables need the reference tables, so these are placed first. */
const PLACEMENT_ORDER = ['reference', 'distributed', 'managed_local'] as const

async function findMisplacedTables(
  database: Database,
  placements: readonly TablePlacements[],
): Promise<MisplacedTable[]> {
  const tables = Map.groupBy(await readTables(database), nameOfTable)
  const wanted = placements.flatMap(each => Object.entries(each))
  return PLACEMENT_ORDER.flatMap(placement =>
    wanted
      .filter(([, asked]) => asked === placement)
      .flatMap(([name]) => tables.get(name) ?? [])
      .filter(({ current }) => current !== placement)
      .map(({ table }) => ({ table, placement })),
  )
}

function nameOfTable({ schema, name }: Pick<StoreTable, 'schema' | 'name'>): string {
  return STORE_SCHEMAS.includes(schema) ? name : `${schema}.${name}`
}

export interface StoreTable {
  schema: string
  name: string
  /** With its schema, quoted. */
  table: string
}

/** Every table except partitions, tables of extensions and the tables of the jobs. */
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

/** From the catalog of Citus 11 to 13. */
const PLACEMENT = `case
    when place.partmethod = 'h' then 'distributed'
    when place.partmethod = 'n' and place.repmodel = 't' then 'reference'
    else 'managed_local'
  end`

async function readPlacement({ pool }: Database, table: string): Promise<TablePlacement> {
  const { rows } = await pool.query(
    `select ${PLACEMENT} as current from pg_dist_partition place
     where place.logicalrelid = $1::text::regclass`,
    [table],
  )
  return rows[0]?.current ?? 'local'
}

async function placeTable(
  { pool }: Database,
  table: string,
  placement: MisplacedTable['placement'],
) {
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
        [table, await findColocationTable(pool)],
      )
  }
}

/** Without a primary key, a table could not be copied to a node that is added later. */
async function setReplicaIdentity(pool: Database['pool'], table: string): Promise<void> {
  const { rows } = await pool.query(
    `select 1 from pg_index where indrelid = $1::text::regclass and indisprimary`,
    [table],
  )
  if (rows.length === 0) await pool.query(`alter table ${table} replica identity full`)
}

/** A distributed table to colocate the next one with; null for the first. */
async function findColocationTable(pool: Database['pool']): Promise<string | null> {
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
 * Copies the statistics targets of columns, which the migrations set on a table or one of its
 * partitions, to the shards: Citus refuses `set statistics` on a table, and a new partition or a
 * moved shard has the default. For the given partitions, or all tables. Do not call it in the
 * transaction that creates the partition, because it uses other connections to the shards.
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
