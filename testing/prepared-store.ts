import { spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { databaseUrl, migrateDatabase, runAsAdmin, TEMPLATE_DATABASE } from './fixtures/database.ts'
import { digest } from './toolchains.ts'

/**
 * A stopped PostgreSQL with all migrations, kept in the cache by the content of its sources: making
 * one takes 3 CPU seconds, copying it 0.1.
 */

const ROOT = join(import.meta.dirname, '..')
const CACHE = join(ROOT, 'node_modules/.cache/signalbox-test-store')
const MEMORY_FOLDER = '/dev/shm'
const MEMORY_BYTES_MIN = 4_000_000_000
const DAY_MILLISECONDS = 86_400_000

/** What a store is made of. The lockfile stands for PostgreSQL and the schema of the jobs. */
const SOURCES = [
  'service/**/*.sql',
  'service/**/db/**/*.ts',
  'service/**/ledger-upgrade/*.ts',
  'service/program/roles/migrate-command.ts',
  'embedded-postgres/*.ts',
  'testing/prepared-store.ts',
  'package-lock.json',
]

/**
 * No test depends on when a vacuum happens by itself. Flushes stay on: the store lies in memory,
 * where they cost nothing, and the doctor is right to report a store without them.
 */
export const TEST_SERVER_SETTINGS = {
  autovacuum: 'off',
  // Several groups of tests at once, each with pools of several services.
  max_connections: '250',
  checkpoint_timeout: '1h',
  max_wal_size: '512MB',
  min_wal_size: '32MB',
}

/** Fills a folder that does not exist with a data folder for `startEmbeddedPostgres`. */
export async function copyPreparedStore(folder: string): Promise<void> {
  const prepared = join(CACHE, digestSources())
  if (!existsSync(prepared)) await prepareStore(prepared)
  copyFolder(prepared, folder)
}

/** The same where a store is prepared already, as in a run of tests; else it copies nothing. */
export function copyStoreOfCache(folder: string): void {
  const prepared = join(CACHE, digestSources())
  if (existsSync(prepared)) copyFolder(prepared, folder)
}

/** Memory where the system has enough of it: a test's database is made in 15 ms there, not 65. */
export function findFastFolder(): string {
  if (!existsSync(MEMORY_FOLDER)) return tmpdir()
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
  return bavail * bsize >= MEMORY_BYTES_MIN ? MEMORY_FOLDER : tmpdir()
}

function digestSources(): string {
  const files = globSync(SOURCES, { cwd: ROOT }).filter(path => !path.endsWith('.test.ts'))
  const hasSchema = files.some(path => path.endsWith('.sql') && path.includes('migrations'))
  // A list that finds nothing would keep an old schema forever.
  if (!hasSchema) throw new Error('testing/prepared-store.ts finds no migrations')
  return digest(files.sort().map(path => readFileSync(join(ROOT, path))))
}

/** Two runs may do this at once; the first one to finish is kept. */
async function prepareStore(prepared: string): Promise<void> {
  const work = mkdtempSync(join(findFastFolder(), 'signalbox-test-store-'))
  const staging = `${prepared}.${process.pid}`
  try {
    await createStore(join(work, 'data'))
    mkdirSync(CACHE, { recursive: true })
    removeOldStores()
    copyFolder(join(work, 'data'), staging)
    if (!existsSync(prepared)) renameSync(staging, prepared)
  } finally {
    rmSync(staging, { recursive: true, force: true })
    rmSync(work, { recursive: true, force: true })
  }
}

async function createStore(dataDirectory: string): Promise<void> {
  const settings = TEST_SERVER_SETTINGS
  const server = await startEmbeddedPostgres({ dataDirectory, port: 0, settings })
  const { connectionString } = server
  try {
    await migrateDatabase(connectionString)
    await runAsAdmin(`create database ${TEMPLATE_DATABASE}`, connectionString)
    await migrateDatabase(databaseUrl(TEMPLATE_DATABASE, connectionString))
  } finally {
    await server.stop()
  }
}

/** Those of branches that were left; a store in use is younger. */
function removeOldStores(): void {
  const oldest = Date.now() - DAY_MILLISECONDS
  for (const path of readdirSync(CACHE).map(name => join(CACHE, name))) {
    if (statSync(path).mtimeMs < oldest) rmSync(path, { recursive: true, force: true })
  }
}

/** Keeps modes and owners, which PostgreSQL checks. */
function copyFolder(from: string, to: string): void {
  const { status, stderr, error } = spawnSync('cp', ['-a', `${from}/.`, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`cannot copy ${from} to ${to}: ${stderr}`, { cause: error })
}
