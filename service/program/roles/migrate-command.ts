import { openDatabase } from '../../runtime/db/database.ts'
import { migrate } from '../../runtime/db/migrate.ts'
import { STORE_SCHEMA } from '../store-schema.ts'
import { openStore, type Store } from './open-store.ts'
import type { RoleContext } from './role.ts'

/** Brings the schema up to date. Several processes may run it at the same time. */
export async function runMigrate(context: RoleContext): Promise<void> {
  const { settings, logger, printStatus } = context
  const store = await openStore({ settings, logger, role: 'migrate', embedded: 'join' })
  try {
    const ran = await migrateStore(context, store)
    printStatus(ran.length === 0 ? 'The schema is up to date.\n' : `Migrated: ${ran.join(', ')}\n`)
  } finally {
    await store.close()
  }
}

/** One migrates, and one holds the lock. */
const CONNECTIONS_MAX = 2

/**
 * Brings the schema up to date over connections of its own without time limits, since a large store
 * takes long. Returns the names of the migrations that ran. Throws a SchemaError.
 */
export async function migrateStore(
  { logger }: RoleContext,
  { connectionString }: Store,
): Promise<string[]> {
  const database = openDatabase({
    connectionString,
    connectionsMax: CONNECTIONS_MAX,
    applicationName: 'signalbox migrations',
    onIdleError: err => logger.warn({ err }, 'a database connection of the migrations failed'),
    hasNoTimeouts: true,
  })
  try {
    return await migrate(database, STORE_SCHEMA)
  } finally {
    await database.close()
  }
}
