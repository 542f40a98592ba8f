import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../service/db/database.ts'
import { migrate } from '../service/db/migrate.ts'
import { citusStore } from './citus/citus-store.ts'
import { sharedCluster } from './citus/cluster.ts'

export const TEMPLATE_DATABASE = 'signalbox_template'

/** A server's address, the shared one's by default, with another database. */
export function databaseUrl(name: string, server: string = serverUrl()): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

export interface TestStore {
  database: Database
  connectionString: string
}

/** A migrated, empty database of the test's own, on the cluster if there is one. */
export async function testStore(test: TestContext): Promise<TestStore> {
  const cluster = sharedCluster()
  if (cluster) return citusStore(test, cluster)
  const connectionString = await testDatabaseUrl(test, TEMPLATE_DATABASE)
  const database = openDatabase({
    connectionString,
    connectionsMax: 10,
    applicationName: 'signalbox test',
    onIdleError: () => {},
  })
  test.after(() => database.close())
  return { database, connectionString }
}

/** A database made from `template` (`template0` for one without a schema). */
export async function testDatabaseUrl(test: TestContext, template: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await asAdmin(`create database ${name} template ${template} strategy file_copy`)
  test.after(() => asAdmin(`drop database if exists ${name} with (force)`))
  return databaseUrl(name)
}

/** A migrated, empty database on another server; gone when the test ends. */
export async function migratedDatabaseUrl(test: TestContext, server: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await asAdmin(`create database ${name}`, server)
  test.after(() => asAdmin(`drop database if exists ${name} with (force)`, server))
  const connectionString = databaseUrl(name, server)
  const database = openDatabase({
    connectionString,
    connectionsMax: 2,
    applicationName: 'signalbox test set-up',
    onIdleError: () => {},
    hasNoTimeouts: true,
  })
  await migrate(database).finally(() => database.close())
  return connectionString
}

/** On the server itself, not in the test's database. */
export async function asAdmin(statement: string, server: string = serverUrl()): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function serverUrl(): string {
  const url = process.env.SIGNALBOX_TEST_STORE_URL
  if (url) return url
  throw new Error('Run this file by: npm run test:file -- PATH (it starts the test store).')
}
