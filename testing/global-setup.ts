import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildDashboard } from '@signalbox/dashboard/build.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { buildDocs } from '../docs/site/build.ts'
import { STORE_SCHEMA } from '../service/program/store-schema.ts'
import { openDatabase } from '../service/runtime/db/database.ts'
import { migrate } from '../service/runtime/db/migrate.ts'
import { databaseUrl, TEMPLATE_DATABASE } from './fixtures/database.ts'

const MEMORY_FOLDER = '/dev/shm'
const MEMORY_BYTES_MIN = 4_000_000_000

let directory: string
let server: EmbeddedPostgres

/**
 * One PostgreSQL for all test files, with a migrated template that each test copies. It is a real
 * server, but without disk flushes, because the rows need not survive a power cut.
 */
export async function globalSetup(): Promise<void> {
  await buildDashboard()
  await buildDocs()
  directory = mkdtempSync(join(fastFolder(), 'signalbox-tests-'))
  server = await startEmbeddedPostgres({ dataDirectory: directory, port: 0 })
  process.env.SIGNALBOX_TEST_STORE_URL = server.connectionString
  const admin = open(server.connectionString)
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    await admin.pool.query(`alter system set ${setting} = off`)
  }
  await admin.pool.query("alter system set max_wal_size = '512MB'")
  await admin.pool.query('select pg_reload_conf()')
  await admin.pool.query(`create database ${TEMPLATE_DATABASE}`)
  await admin.close()

  const template = open(databaseUrl(TEMPLATE_DATABASE))
  await migrate(template, STORE_SCHEMA)
  await template.close()
}

export async function globalTeardown(): Promise<void> {
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
}

/** Memory where the system has enough of it: a test's database is made in 15 ms there, not 65. */
function fastFolder(): string {
  if (!existsSync(MEMORY_FOLDER)) return tmpdir()
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
  return bavail * bsize >= MEMORY_BYTES_MIN ? MEMORY_FOLDER : tmpdir()
}

function open(connectionString: string) {
  return openDatabase({
    connectionString,
    connectionsMax: 2,
    applicationName: 'signalbox test set-up',
    onIdleError: () => {},
  })
}
