import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import type { Database } from '../runtime/db/database.ts'
import { findPlacement, listTables } from '../runtime/db/distribute-tables.ts'
import { STORE_SCHEMA } from './roles/migrate-command.ts'

async function findUnlisted(database: Database): Promise<string[]> {
  const tables = await listTables(database)
  return tables
    .filter(({ schema, name }) => findPlacement(STORE_SCHEMA.placements, { schema, name }) === null)
    .map(({ table }) => table)
}

async function readColumns({ pool }: Database, table: string): Promise<string[]> {
  const { rows } = await pool.query(
    `select attname from pg_attribute
     where attrelid = $1::text::regclass and attnum > 0 and not attisdropped`,
    [table],
  )
  return rows.map(row => row.attname)
}

it('lists every table exactly once', async test => {
  const { database } = await createTestDatabase(test)
  assert.deepEqual(
    await findUnlisted(database),
    [],
    'add it to service/runtime/db/distribute-tables.ts',
  )
  const names = STORE_SCHEMA.placements.flatMap(each => Object.keys(each))
  assert.deepEqual(names, [...new Set(names)])
  assert.ok((await listTables(database)).length > 40)
})

it('finds an unlisted table in each of the schemas', async test => {
  const { database } = await createTestDatabase(test)
  await database.pool.query(
    `create schema if not exists signalbox_store;
     create table signalbox_store.not_listed (tracker_id uuid primary key);
     create table public.not_listed (tracker_id uuid primary key);
     create table people.not_listed (id integer primary key)`,
  )
  assert.deepEqual(await findUnlisted(database), [
    'people.not_listed',
    'public.not_listed',
    'signalbox_store.not_listed',
  ])
})

it('distributes or copies tables with a tracker, and distributes no others', async test => {
  const { database } = await createTestDatabase(test)
  for (const { schema, name, table } of await listTables(database)) {
    const columns = await readColumns(database, table)
    const placement = findPlacement(STORE_SCHEMA.placements, { schema, name })
    if (columns.includes('tracker_id')) {
      assert.ok(placement === 'distributed' || placement === 'reference', table)
    } else {
      assert.notEqual(placement, 'distributed', table)
    }
  }
})

it('has tracker_id in every unique index of a distributed table and its partitions', async test => {
  const { database } = await createTestDatabase(test)
  assert.deepEqual(await findUnshardable(database), [])
})

/** Distributed tables and partitions also need a primary key: without one, a shard cannot move. */
async function findUnshardable(database: Database): Promise<string[]> {
  const tables = (await listTables(database))
    .filter(
      ({ schema, name }) =>
        findPlacement(STORE_SCHEMA.placements, { schema, name }) === 'distributed',
    )
    .map(({ table }) => table)
  const { rows } = await database.pool.query(
    `with members as (
       select distinct relid::regclass as member
       from unnest($1::text[]) parent, lateral (
         select parent::regclass as relid
         union all select relid from pg_partition_tree(parent::regclass)
       ) tree
     )
     select member::text || ' has no primary key' as problem
     from members join pg_class on pg_class.oid = member
     where relkind = 'r' and not exists (
       select from pg_index where indrelid = member and indisprimary
     )
     union all
     select indexrelid::regclass::text
     from members join pg_index on indrelid = member
     join pg_attribute on attrelid = member and attname = 'tracker_id'
     where indisunique and not attnum = any(indkey::int2[])
     order by 1`,
    [tables],
  )
  return rows.map(row => row.problem)
}
