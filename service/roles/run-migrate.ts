import { migrateStore } from './migrate-store.ts'
import { openStore } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { refuseArguments } from './start-error.ts'

/** Brings the schema up to date and ends. Safe to run from several places at once. */
export async function runMigrate(
  context: RoleContext,
  argumentList: readonly string[],
): Promise<void> {
  refuseArguments('migrate', argumentList)
  const { settings, logger, tell } = context
  const store = await openStore({ settings, logger, role: 'migrate', embedded: 'join' })
  try {
    const ran = await migrateStore(context, store)
    tell(ran.length === 0 ? 'The schema is up to date.\n' : `Migrated: ${ran.join(', ')}\n`)
  } finally {
    await store.close()
  }
}
