import type { Database } from '../service/db/database.ts'

interface StoredIndex {
  table: string
  name: string
  /** Null for an index that is no constraint. */
  constraint: string | null
  definition: string
  isRandom: boolean
}

/**
 * What comes in in no order leaves pages of an index about so full, while a new index has them 90 %
 * full: then a new row splits a page far more often than it would in a store that grew by itself.
 */
const RANDOM_FILL = 70

/**
 * Runs `load` with no index on these tables, and builds the indexes afterwards: ten million rows
 * take minutes so, and an hour otherwise. `randomColumns` are those whose values come in no order.
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
 * Those that belong to an index of a partitioned table go and come with it. PostgreSQL tells the
 * latter as an index of that table only.
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

/** Does all of it, so many at a time: a connection is not waited for longer than five seconds. */
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
