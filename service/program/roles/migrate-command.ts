import { AGENT_PLACEMENTS } from '../../agents/tables.ts'
import { AUDIT_PLACEMENTS } from '../../audit/tables.ts'
import { openDatabase } from '../../runtime/db/database.ts'
import { migrate, type StoreSchema } from '../../runtime/db/migrate.ts'
import { JOB_PLACEMENTS } from '../../runtime/jobs/tables.ts'
import { DELIVERY_PLACEMENTS } from '../../signals/delivery/tables.ts'
import { LEDGER_UPGRADE } from '../../signals/events/ledger-upgrade/upgrade-store.ts'
import { EVENT_PLACEMENTS } from '../../signals/events/tables.ts'
import { SIGNAL_PLACEMENTS } from '../../signals/tables.ts'
import { WORKSPACE_PLACEMENTS } from '../../workspaces/tables.ts'
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

/** The tables of all rooms, for `migrate`. A room comes after those whose tables it references. */
export const STORE_SCHEMA: StoreSchema = {
  placements: [
    JOB_PLACEMENTS,
    WORKSPACE_PLACEMENTS,
    AUDIT_PLACEMENTS,
    SIGNAL_PLACEMENTS,
    DELIVERY_PLACEMENTS,
    EVENT_PLACEMENTS,
    AGENT_PLACEMENTS,
  ],
  upgrades: [LEDGER_UPGRADE],
}
