import { openDatabase } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { openStore, type Store } from './open-store.ts'
import { type RoleContext, refuseArguments } from './role.ts'

/** Brings the schema up to date and ends. Safe to run from several places at once. */
export async function runMigrate(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  refuseArguments('migrate', argumentList)
  const { settings, logger, printStatus: tell } = context
  const store = await openStore({ settings, logger, role: 'migrate', embedded: 'join' })
  try {
    const ran = await migrateStore(context, store)
    tell(ran.length === 0 ? 'The schema is up to date.\n' : `Migrated: ${ran.join(', ')}\n`)
  } finally {
    await store.close()
  }
}

/** One that migrates, and one that holds the turn. */
const CONNECTIONS_MAX = 2

/**
 * Brings the schema up to date over connections of its own, which have the time that a large store
 * needs. Returns the names of the migrations that ran. Throws a SchemaError.
 */
export async function migrateStore(
  { logger }: RoleContext,
  { connectionString }: Store,
): Promise<string[]> {
  const database = openDatabase({
    connectionString,
    connectionsMax: CONNECTIONS_MAX,
    applicationName: 'signalbox migrations',
    onIdleError: err => logger.warn({ err }, 'a connection of the migrations broke'),
    hasNoTimeouts: true,
  })
  try {
    return await migrate(database)
  } finally {
    await database.close()
  }
}
