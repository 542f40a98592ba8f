import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { STORE_SCHEMA } from '../../program/roles/migrate-command.ts'
import { distributeTables } from './distribute-tables.ts'
import { openStoreNodes } from './store-nodes.ts'

it('returns the database itself on one PostgreSQL, without a query', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const nodes = await openStoreNodes(database, {
    connectionString,
    connectionsMax: 1,
    applicationName: 'store nodes test',
    onIdleError: () => {},
    monotonicSeconds: () => 0,
  })
  assert.equal(nodes.isCluster, false)
  let queries = 0
  database.pool.on('acquire', () => {
    queries += 1
  })
  assert.equal(await nodes.findNode('0190aaaa-0000-7000-8000-000000000001'), database)
  assert.deepEqual(nodes.all(), [database])
  assert.equal(queries, 0)
  await nodes.close()
  await database.ping()
})

it('distributes nothing on one PostgreSQL', async test => {
  const { database } = await createTestDatabase(test)
  assert.deepEqual(await distributeTables(database, STORE_SCHEMA.placements), [])
})
