import { insertTracker, type NewTracker } from '../service/access/store.ts'
import type { Database } from '../service/db/database.ts'
import { insertWorkspace } from '../service/people/workspace-store.ts'

/** Creates a tracker in a workspace of its own. */
export async function insertTrackerWithWorkspace(
  database: Database,
  { id, createdAt }: Pick<NewTracker, 'id' | 'createdAt'>,
): Promise<void> {
  const workspaceId = await insertWorkspace(database, { name: 'Test', createdAt })
  await insertTracker(database, { id, workspaceId, name: 'Test', createdAt })
}
