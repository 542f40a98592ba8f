import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { type Migration, type MigrationResultSet, Migrator } from 'kysely/migration'
import type { Database } from './database.ts'
import { isInsufficientPrivilege } from './database-errors.ts'
import { distributeTables } from './distribute-tables.ts'
import type { TablePlacements, Tables } from './tables.ts'

const FOLDER = join(import.meta.dirname, '../../migrations')
const VERSIONS = { oldest: 15, newest: 18 }
const MIGRATION_LOCK = 'signalbox_migrations'

/** The schema of the store does not fit this program. The message is one sentence with a fix. */
export class SchemaError extends Error {
  override name = 'SchemaError'
}

/** No migration has run here: the first start of `all`, or `migrate`, creates everything. */
export class EmptyStoreError extends SchemaError {}

/** What the rooms of the service declare about the tables that the migrations create. */
export interface StoreSchema {
  placements: readonly TablePlacements[]
  /** In the order of their migrations. */
  upgrades: readonly StoreUpgrade[]
}

/**
 * Prepares a store in use for one migration, while processes of the previous version run, so that
 * the migration itself takes moments.
 */
export interface StoreUpgrade {
  /** The name of the migration. */
  migration: string
  /** The name of the migration before it. */
  previous: string
  /** Asked only while the migration is pending. */
  isNeeded: (database: Database) => Promise<boolean>
  /** Runs at the schema of `previous`. Resumes after an interruption. */
  prepare: (database: Database) => Promise<void>
  /** Lets the previous version continue after the migration has failed. */
  abandon: (database: Database) => Promise<void>
}

/**
 * Migrates the schema, forward only, to the newest version that this program knows, and the schema
 * of the jobs with it. Processes that start at the same time run one after the other, and take the
 * lock before they read the tables: Kysely's introspection fails on tables that another process is
 * changing. Uses two connections. Returns the names of the migrations that ran. Throws a
 * SchemaError on a database that a newer program has migrated, or where the account may not create
 * schemas.
 */
export async function migrate(database: Database, schema: StoreSchema): Promise<string[]> {
  await requireSupportedServer(database)
  const lock = await database.pool.connect()
  try {
    await lock.query('select pg_advisory_lock(hashtext($1::text))', [MIGRATION_LOCK])
    return await migrateUnderLock(database, schema)
  } finally {
    // Unlock before returning: the server notices a closed connection only later. Closing it as
    // well covers a connection that is broken.
    await lock
      .query('select pg_advisory_unlock(hashtext($1::text))', [MIGRATION_LOCK])
      .catch(() => {})
    lock.release(true)
  }
}

async function migrateUnderLock(
  database: Database,
  { placements, upgrades }: StoreSchema,
): Promise<string[]> {
  const migrator = createMigrator(database.query)
  await refuseNewerSchema(migrator, database)
  const ran: string[] = []
  let prepared: StoreUpgrade | null = null
  try {
    for (const upgrade of upgrades) {
      if (!(await isUpgradeDue(migrator, database, upgrade))) continue
      ran.push(...(await namesOfRun(migrator.migrateTo(upgrade.previous))))
      await upgrade.prepare(database)
      prepared = upgrade
    }
    ran.push(...(await namesOfRun(migrator.migrateToLatest())))
  } catch (error) {
    await prepared?.abandon(database)
    throw error
  }
  await migrateJobs(database).catch(throwMissingPrivilege)
  await distributeTables(database, placements)
  return ran
}

async function isUpgradeDue(
  migrator: Migrator,
  database: Database,
  { migration, isNeeded }: StoreUpgrade,
): Promise<boolean> {
  return (await pendingMigrations(migrator)).includes(migration) && isNeeded(database)
}

async function namesOfRun(run: Promise<MigrationResultSet>): Promise<string[]> {
  const { results = [], error } = await run
  if (!error) return results.map(({ migrationName }) => migrationName)
  if (isInsufficientPrivilege(error)) throwMissingPrivilege(error)
  const failed = results.find(({ status }) => status === 'Error')?.migrationName
  throw new SchemaError(`Migration ${failed ?? 'set'} failed; nothing of it was kept.`, {
    cause: error,
  })
}

/** For roles that do not migrate: throws a SchemaError unless the schema is current. */
export async function requireCurrentSchema(database: Database): Promise<void> {
  await requireSupportedServer(database)
  if (await isBeingMigrated(database)) {
    throw new SchemaError('The database is being migrated: start again when that is done.')
  }
  const migrator = createMigrator(database.query)
  await refuseNewerSchema(migrator, database)
  const pending = await pendingMigrations(migrator)
  if (pending.length > 0) {
    const isEmpty = pending.length === Object.keys(readMigrations()).length
    throw new (isEmpty ? EmptyStoreError : SchemaError)(
      `The database lacks ${pending.length} migration(s): run "signalbox-server migrate" first.`,
    )
  }
  if ((await readJobsSchemaState(database)) === 'missing') {
    throw new SchemaError(
      'The database lacks tables of the jobs: run "signalbox-server migrate" first.',
    )
  }
}

async function isBeingMigrated({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query(
    'select pg_try_advisory_xact_lock_shared(hashtext($1::text)) as is_free',
    [MIGRATION_LOCK],
  )
  return !rows[0].is_free
}

/** The names of the migrations that have not run yet. */
async function pendingMigrations(migrator: Migrator): Promise<string[]> {
  const migrations = await migrator.getMigrations()
  return migrations.filter(({ executedAt }) => !executedAt).map(({ name }) => name)
}

function createMigrator(query: Kysely<Tables>): Migrator {
  return new Migrator({ db: query, provider: { getMigrations: async () => readMigrations() } })
}

function readMigrations(): Record<string, Migration> {
  const names = readdirSync(FOLDER).filter(name => name.endsWith('.sql'))
  return Object.fromEntries(
    names.map(name => {
      const text = readFileSync(join(FOLDER, name), 'utf8')
      return [
        name.slice(0, -'.sql'.length),
        {
          up: db =>
            sql
              .raw(text)
              .execute(db)
              .then(() => {}),
        },
      ]
    }),
  )
}

async function requireSupportedServer({ pool }: Database): Promise<void> {
  const { rows } = await pool.query('show server_version_num')
  const major = Math.floor(Number(rows[0]?.server_version_num) / 10_000)
  if (major < VERSIONS.oldest || major > VERSIONS.newest) {
    const range = `${VERSIONS.oldest} to ${VERSIONS.newest}`
    throw new SchemaError(`Signalbox needs PostgreSQL ${range}; this server is version ${major}.`)
  }
}

async function refuseNewerSchema(migrator: Migrator, database: Database): Promise<void> {
  if ((await readJobsSchemaState(database)) === 'newer') {
    throw new SchemaError(
      'The database holds jobs that this version does not know: start the newer Signalbox that ' +
        'made them, or restore a backup.',
    )
  }
  const { query } = database
  const known = new Set((await migrator.getMigrations()).map(({ name }) => name))
  const { rows: found } = await sql<{ name: string | null }>`
    select to_regclass('kysely_migration')::text as name`.execute(query)
  if (found[0]?.name === null) return
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(query)
  const unknown = rows.map(({ name }) => name).filter(name => !known.has(name))
  if (unknown.length > 0) {
    throw new SchemaError(
      `The database holds migration ${unknown[0]}, which this version does not know: start the ` +
        'newer Signalbox that made it, or restore a backup.',
    )
  }
}

function throwMissingPrivilege(cause: unknown): never {
  if (!isInsufficientPrivilege(cause)) throw cause
  throw new SchemaError(
    'The account in DATABASE_URL may not create schemas: have the owner of the database grant it ' +
      'CREATE on the database, then start again.',
    { cause },
  )
}

/** The schema of graphile-worker's tables. The statements of `jobs/job-store.ts` name it. */
export const JOBS_SCHEMA = 'signalbox_jobs'

/** The last migration of the graphile-worker in package.json. A test compares the two. */
const NEWEST_MIGRATION = 20

/** Requires the lock of `migrate`, and the privilege to create schemas. */
async function migrateJobs({ pool }: Database): Promise<void> {
  // Every role loads this file to check the schema; only a migration needs the library.
  const { Logger, runMigrations } = await import('graphile-worker')
  // A failure is thrown; nothing else is worth a log line.
  const silentLogger = new Logger(() => () => {})
  await runMigrations({ pgPool: pool, schema: JOBS_SCHEMA, logger: silentLogger })
}

/**
 * `missing` when some or all tables of the jobs are, `newer` when a newer program made a breaking
 * change to them.
 */
export async function readJobsSchemaState({
  query,
}: Database): Promise<'missing' | 'current' | 'newer'> {
  const migrations = `${JOBS_SCHEMA}.migrations`
  const { rows: found } = await sql<{ name: string | null }>`
    select to_regclass(${migrations})::text as name`.execute(query)
  if (!found[0]?.name) return 'missing'
  const { rows } = await sql<{ newest: number | null; breaking: number | null }>`
    select max(id) as newest, max(id) filter (where breaking) as breaking
    from ${sql.table(migrations)}`.execute(query)
  const { newest, breaking } = rows[0] ?? {}
  if ((breaking ?? 0) > NEWEST_MIGRATION) return 'newer'
  return (newest ?? 0) < NEWEST_MIGRATION ? 'missing' : 'current'
}
