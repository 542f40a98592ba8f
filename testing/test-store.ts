import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../service/db/database.ts'

export const TEMPLATE_DATABASE = 'signalbox_template'

/** The shared server's address, with another database. */
export function databaseUrl(name: string): string {
  const url = new URL(serverUrl())
  url.pathname = `/${name}`
  return url.href
}

export interface TestStore {
  database: Database
  connectionString: string
}

/** A migrated, empty database of the test's own; gone when the test ends. */
export async function testStore(test: TestContext): Promise<TestStore> {
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

/** On the server itself, whatever becomes of the test's database. */
export async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl() })
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
