import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import type { Database } from '../runtime/db/database.ts'

interface Column {
  type: string
  isNullable: boolean
  isGenerated: boolean
}

/** The TypeScript type for each PostgreSQL type; json is written as text. */
const TYPES: Record<string, string> = {
  uuid: 'string',
  text: 'string',
  numeric: 'string',
  date: 'string',
  json: 'string',
  jsonb: 'string',
  integer: 'number',
  smallint: 'number',
  bigint: 'number',
  boolean: 'boolean',
  bytea: 'Buffer',
  'timestamp with time zone': 'Date',
  'text[]': 'string[]',
  'uuid[]': 'string[]',
  'bigint[]': 'number[]',
  'timestamp with time zone[]': 'Date[]',
  'integer[]': 'number[]',
}

/** Parses `tables.ts` of each room as formatted: tables at two spaces, columns at four. */
function declaredColumns(): Map<string, Column> {
  const rooms = join(import.meta.dirname, '..')
  const source = globSync('**/tables.ts', { cwd: rooms })
    .map(file => readFileSync(join(rooms, file), 'utf8'))
    .join('\n')
  const columns = new Map<string, Column>()
  let table = ''
  for (const line of source.split('\n')) {
    table = /^ {2}'?([\w.]+)'?: \{$/.exec(line)?.[1] ?? table
    const [, name, declared] = /^ {4}(\w+): (.+)$/.exec(line) ?? []
    if (!name || !declared) continue
    const generated = /^Generated<(.+)>$/.exec(declared)?.[1]
    const type = generated ?? declared
    columns.set(`${table}.${name}`, {
      type: type.replace(/ \| null$/, ''),
      isNullable: type.endsWith(' | null'),
      isGenerated: generated !== undefined,
    })
  }
  return columns
}

async function migratedColumns({ pool }: Database): Promise<Map<string, Column>> {
  const { rows } = await pool.query(
    `select case relation.relnamespace when 'people'::regnamespace then 'people.' else '' end
         || relation.relname as relname, attribute.attname, attribute.attnotnull,
       format_type(attribute.atttypid, attribute.atttypmod) as type,
       attribute.atthasdef or attribute.attidentity <> '' as is_generated
     from pg_attribute attribute
     join pg_class relation on relation.oid = attribute.attrelid
     where relation.relnamespace in
         ('public'::regnamespace, 'signalbox_store'::regnamespace, 'people'::regnamespace)
       and relation.relkind in ('r', 'p') and not relation.relispartition
       and relation.relname not like 'kysely%'
       and attribute.attnum > 0 and not attribute.attisdropped`,
  )
  return new Map(
    rows.map(row => [
      `${row.relname}.${row.attname}`,
      {
        type: TYPES[row.type] ?? `? (${row.type})`,
        isNullable: !row.attnotnull,
        isGenerated: row.is_generated,
      },
    ]),
  )
}

function sorted(columns: Map<string, Column>): [string, Column][] {
  return [...columns].sort(([a], [b]) => (a < b ? -1 : 1))
}

it('declares exactly the columns of the migrated schema, with their types', async test => {
  const { database } = await createTestDatabase(test)
  const declared = declaredColumns()
  assert.ok(declared.size > 80, 'the interface was not read')
  assert.deepEqual(sorted(declared), sorted(await migratedColumns(database)))
})

it('begins every key of a tracker-scoped table with tracker_id', async test => {
  const { database } = await createTestDatabase(test)
  const { rows } = await database.pool.query(
    `select relation.relname as table_name, index_relation.relname as index_name,
       pg_index.indisprimary as is_primary,
       (select attname from pg_attribute
        where attrelid = relation.oid and attnum = pg_index.indkey[0]) as first_column
     from pg_class relation
     left join pg_index on pg_index.indrelid = relation.oid and pg_index.indisunique
     left join pg_class index_relation on index_relation.oid = pg_index.indexrelid
     where relation.relnamespace = 'public'::regnamespace and relation.relkind in ('r', 'p')
       and exists (select from pg_attribute
                   where attrelid = relation.oid and attname = 'tracker_id')`,
  )
  assert.ok(rows.length >= 10)
  const wrong = rows.filter(row => row.first_column !== 'tracker_id')
  assert.deepEqual(wrong, [])
  const withPrimaryKey = new Set(rows.filter(row => row.is_primary).map(row => row.table_name))
  const without = rows.map(row => row.table_name).filter(name => !withPrimaryKey.has(name))
  assert.deepEqual(without, [])
})

it('includes the tracker in every foreign key between tracker-scoped tables', async test => {
  const { database } = await createTestDatabase(test)
  const { rows } = await database.pool.query(
    `select constraint_row.conname
     from pg_constraint constraint_row
     where constraint_row.contype = 'f'
       and exists (select from pg_attribute
                   where attrelid = constraint_row.confrelid and attname = 'tracker_id')
       and not exists (select from pg_attribute
                       where attrelid = constraint_row.conrelid and attname = 'tracker_id'
                         and attnum = any(constraint_row.conkey))`,
  )
  assert.deepEqual(rows, [])
})
