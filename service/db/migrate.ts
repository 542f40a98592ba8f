import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { type Migration, type MigrationResultSet, Migrator } from 'kysely/migration'
import type { Database } from './database.ts'
import { distributeTables } from './distribute-tables.ts'
import { migrateJobs, stateOfJobs } from './jobs-schema.ts'
import {
  LEDGER_UPGRADE,
  needsLedgerUpgrade,
  prepareLedgerUpgrade,
  releaseBound,
} from './ledger-upgrade/upgrade-store.ts'
import type { Tables } from './tables.ts'

const FOLDER = join(import.meta.dirname, '..', 'migrations')
const VERSIONS = { oldest: 15, newest: 18 }
const MIGRATION_TURN = 'signalbox_migrations'
const INSUFFICIENT_PRIVILEGE = '42501'

/** The store cannot be used as it is; the message says in one sentence what to do. */
export class SchemaError extends Error {
  override name = 'SchemaError'
}

/**
 * Brings the schema to the newest version that this program knows, forward only, and that of the
 * jobs beside it. Processes that start at the same time wait for each other, from the first look at
 * the tables on: Kysely's look fails on tables that another process is just changing. It takes two
 * connections. Returns the names of our migrations that ran. Throws a SchemaError on a database
 * that a newer program has migrated, or in which the account may not create a schema.
 */
export async function migrate(database: Database): Promise<string[]> {
  await requireSupportedServer(database)
  const turn = await database.pool.connect()
  try {
    await turn.query('select pg_advisory_lock(hashtext($1::text))', [MIGRATION_TURN])
    return await migrateInTurn(database)
  } finally {
    // Given back before the caller is told that it is done: the server hears of a closed connection
    // later. Closed all the same, for a connection that can say nothing any more.
    await turn
      .query('select pg_advisory_unlock(hashtext($1::text))', [MIGRATION_TURN])
      .catch(() => {})
    turn.release(true)
  }
}

async function migrateInTurn(database: Database): Promise<string[]> {
  const migrator = migratorOf(database.query)
  await refuseNewerSchema(migrator, database)
  const earlier = await prepareStoreInUse(migrator, database)
  const { results = [], error } = earlier.error ? earlier : await migrator.migrateToLatest()
  if (error) {
    if (earlier.isPrepared) await releaseBound(database)
    if (lacksRight(error)) refuseMissingRight(error)
    const failed = results.find(result => result.status === 'Error')?.migrationName
    throw new SchemaError(`Migration ${failed ?? 'set'} failed; nothing of it was kept.`, {
      cause: error,
    })
  }
  await migrateJobs(database).catch(refuseMissingRight)
  await distributeTables(database)
  return [...(earlier.results ?? []), ...results].map(result => result.migrationName)
}

/** A store in use is brought to the version before, and prepared while that goes on. */
async function prepareStoreInUse(
  migrator: Migrator,
  database: Database,
): Promise<MigrationResultSet & { isPrepared: boolean }> {
  const isPrepared = false
  if (!(await pendingMigrations(migrator)).includes(LEDGER_UPGRADE.to)) return { isPrepared }
  if (!(await needsLedgerUpgrade(database))) return { isPrepared }
  const brought = await migrator.migrateTo(LEDGER_UPGRADE.from)
  if (brought.error) return { ...brought, isPrepared }
  await prepareLedgerUpgrade(database)
  return { ...brought, isPrepared: true }
}

/** For roles that do not migrate: throws a SchemaError unless the schema is exactly ours. */
export async function requireCurrentSchema(database: Database): Promise<void> {
  await requireSupportedServer(database)
  if (await isBeingMigrated(database)) {
    throw new SchemaError('The database is being migrated: start again when that is done.')
  }
  const migrator = migratorOf(database.query)
  await refuseNewerSchema(migrator, database)
  const pending = await pendingMigrations(migrator)
  if (pending.length > 0) {
    throw new SchemaError(
      `The database lacks ${pending.length} migration(s): run "npm run migrate" first.`,
    )
  }
  if ((await stateOfJobs(database)) === 'missing') {
    throw new SchemaError('The database lacks tables of the jobs: run "npm run migrate" first.')
  }
}

async function isBeingMigrated({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query(
    'select pg_try_advisory_xact_lock_shared(hashtext($1::text)) as is_free',
    [MIGRATION_TURN],
  )
  return !rows[0].is_free
}

/** The names of the migrations that have not run yet. */
export async function pendingMigrations(migrator: Migrator): Promise<string[]> {
  const migrations = await migrator.getMigrations()
  return migrations.filter(({ executedAt }) => !executedAt).map(({ name }) => name)
}

function migratorOf(query: Kysely<Tables>): Migrator {
  return new Migrator({ db: query, provider: { getMigrations: async () => sqlFiles() } })
}

function sqlFiles(): Record<string, Migration> {
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
  if ((await stateOfJobs(database)) === 'newer') {
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

function lacksRight(error: unknown): boolean {
  return (error as { code?: unknown }).code === INSUFFICIENT_PRIVILEGE
}

function refuseMissingRight(cause: unknown): never {
  if (!lacksRight(cause)) throw cause
  throw new SchemaError(
    'The account in DATABASE_URL may not create schemas: have the owner of the database grant it ' +
      'CREATE on the database, then start again.',
    { cause },
  )
}
