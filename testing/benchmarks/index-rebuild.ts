import type { Database } from '../../service/runtime/db/database.ts'

interface StoredIndex {
  table: string
  name: string
  /** Null for an index without a constraint. */
  constraint: string | null
  definition: string
  isRandom: boolean
}

/**
 * Values in random order leave index pages about this full, while a new index has 90 % full pages,
 * which new rows would split far more often than in a store that grew over time.
 */
const RANDOM_FILL = 70

/**
 * Runs `load` without indexes on these tables and builds them afterwards, so that ten million rows
 * take minutes instead of an hour. `randomColumns` are columns with values in random order.
 */
export async function withoutIndexes<Result>(
  { pool }: Database,
  { tables, randomColumns }: { tables: readonly string[]; randomColumns: readonly string[] },
  load: () => Promise<Result>,
): Promise<Result> {
  const { rows } = await pool.query(FIND_INDEXES, [tables, randomColumns])
  const indexes = rows.map(
    (row): StoredIndex => ({
      table: row.table,
      name: row.name,
      constraint: row.constraint,
      definition: row.definition,
      isRandom: row.is_random,
    }),
  )
  for (const { table, name, constraint } of indexes) {
    const drop = constraint === null ? `drop index ${name}` : dropConstraint(table, constraint)
    await pool.query(drop)
  }
  const result = await load()
  const connections = pool.options.max ?? 1
  await forEachConcurrently(indexes, connections, index => pool.query(createStatement(index)))
  return result
}

function dropConstraint(table: string, constraint: string): string {
  return `alter table ${table} drop constraint ${constraint}`
}

function createStatement({ table, constraint, definition, isRandom }: StoredIndex): string {
  const fill = isRandom ? ` with (fillfactor = ${RANDOM_FILL})` : ''
  return constraint === null
    ? `${definition}${fill}`
    : `alter table ${table} add constraint ${constraint} ${definition}${fill}`
}

/**
 * Excludes indexes of partitions: they are dropped and created with the index of the partitioned
 * table.
 */
const FIND_INDEXES = `
  select index.indrelid::regclass::text as table, index.indexrelid::regclass::text as name,
    quote_ident(con.conname) as constraint,
    coalesce(pg_get_constraintdef(con.oid),
      replace(pg_get_indexdef(index.indexrelid), ' ON ONLY ', ' ON ')) as definition,
    coalesce(random.first_column = any($2::text[]), false) and index.indpred is null as is_random
  from pg_index index
  left join pg_constraint con on con.conindid = index.indexrelid and con.contype in ('p', 'u')
  left join lateral (
    select attname::text as first_column
    from unnest(index.indkey::smallint[]) with ordinality as key(number, place)
    join pg_attribute on attrelid = index.indrelid and attnum = key.number
    where attname not in ('tracker_id', 'space') order by place limit 1
  ) random on true
  where coalesce(pg_partition_root(index.indrelid), index.indrelid) = any($1::text[]::regclass[])
    and not exists (select from pg_inherits where inhrelid = index.indexrelid)`

/** Runs all tasks, a few at a time: waiting for a connection times out after five seconds. */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  atATime: number,
  act: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await act(item)
  }
  await Promise.all(Array.from({ length: atATime }, worker))
}
