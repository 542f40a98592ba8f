import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../service/db/database.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../service/db/embedded-postgres.ts'
import { migrate } from '../service/db/migrate.ts'
import { databaseUrl, TEMPLATE_DATABASE } from './test-store.ts'

let directory: string
let server: EmbeddedPostgres

/**
 * One PostgreSQL for all test files, with a migrated template that each test copies. It is the
 * real one; only its disk flushes are off, since nobody needs these rows after a power cut.
 */
export async function globalSetup(): Promise<void> {
  directory = mkdtempSync(join(tmpdir(), 'signalbox-tests-'))
  server = await startEmbeddedPostgres({ dataDirectory: directory, port: 0 })
  process.env.SIGNALBOX_TEST_STORE_URL = server.connectionString
  const admin = open(server.connectionString)
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    await admin.pool.query(`alter system set ${setting} = off`)
  }
  await admin.pool.query('select pg_reload_conf()')
  await admin.pool.query(`create database ${TEMPLATE_DATABASE}`)
  await admin.close()

  const template = open(databaseUrl(TEMPLATE_DATABASE))
  await migrate(template)
  await template.close()
}

export async function globalTeardown(): Promise<void> {
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
}

function open(connectionString: string) {
  return openDatabase({
    connectionString,
    connectionsMax: 2,
    applicationName: 'signalbox test set-up',
    onIdleError: () => {},
  })
}
