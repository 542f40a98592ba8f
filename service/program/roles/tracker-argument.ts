import type { Database } from '../../runtime/db/database.ts'
import {
  findTracker,
  listTrackersOfWorkspace,
  type TrackerIdentity,
} from '../../signals/access/tracker-store.ts'
import type { TrackerReference } from './option-values.ts'
import { StartError } from './role.ts'

/** Throws a StartError when there is no such tracker, or more than one. */
export async function findTrackerArgument(
  database: Database,
  reference: TrackerReference,
): Promise<TrackerIdentity> {
  if ('trackerId' in reference) {
    const tracker = await findTracker(database, reference.trackerId)
    if (tracker) return tracker
    throw new StartError(`There is no tracker ${reference.trackerId} here.`)
  }
  const { workspaceId } = reference
  const [tracker, ...others] = await listTrackersOfWorkspace(database, workspaceId)
  if (!tracker) throw new StartError(`There is no workspace ${workspaceId} with a tracker here.`)
  if (others.length === 0) return tracker
  const ids = [tracker, ...others].map(({ trackerId }) => trackerId)
  throw new StartError(
    `Workspace ${workspaceId} has several trackers: name one of ${ids.join(', ')}.`,
  )
}
