import type { Database } from '../db/database.ts'
import { deleteEndedInvitations } from './invitation-store.ts'
import { deleteEndedSessions, deleteEndedVerifications } from './session-store.ts'

const INVITATIONS_KEPT_DAYS = 30

/**
 * Removes what is over: sessions, mailed links, and invitations that nobody can answer any more. To
 * be called now and then; whatever is over counts for nothing before it is removed.
 */
export async function collectGarbage(database: Database, at: Date): Promise<void> {
  await deleteEndedSessions(database, at)
  await deleteEndedVerifications(database, at)
  const before = new Date(at.getTime() - INVITATIONS_KEPT_DAYS * 86_400_000)
  await deleteEndedInvitations(database, before)
}
