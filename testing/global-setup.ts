import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildDashboard } from '@signalbox/dashboard/build.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { buildDocs } from '../docs/site/build.ts'
import { copyPreparedStore, findFastFolder, TEST_SERVER_SETTINGS } from './prepared-store.ts'

let directory: string | undefined
let server: EmbeddedPostgres | undefined

/**
 * One PostgreSQL for all test files, with a migrated template that tests copy. It is a real server,
 * but without disk flushes, because the rows need not survive a power cut.
 */
export async function globalSetup(): Promise<void> {
  await buildDashboard()
  await buildDocs()
  directory = mkdtempSync(join(findFastFolder(), 'signalbox-tests-'))
  const dataDirectory = join(directory, 'data')
  await copyPreparedStore(dataDirectory)
  server = await startEmbeddedPostgres({
    dataDirectory,
    port: 0,
    settings: TEST_SERVER_SETTINGS,
  })
  process.env.SIGNALBOX_TEST_STORE_URL = server.connectionString
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
}
