import type { Database } from '../db/database.ts'
import { deleteExpiredArtifacts } from './artifact-store.ts'
import { deleteUnapprovedClients } from './client-store.ts'

const DAY_MILLISECONDS = 86_400_000
/** A client that nobody approves in this time is not coming back. */
const UNAPPROVED_DAYS = 30
/**
 * What is out of time is kept a little, so that its caller is told so and not that it never was.
 */
const EXPIRED_DAYS = 1

export interface CollectedGarbage {
  artifacts: number
  clients: number
}

/**
 * Forgets what nobody can use any more. To be called once a day or so; twice at once is no harm.
 */
export async function collectOauthGarbage(database: Database, at: Date): Promise<CollectedGarbage> {
  const daysAgo = (days: number) => new Date(at.getTime() - days * DAY_MILLISECONDS)
  return {
    artifacts: await deleteExpiredArtifacts(database, daysAgo(EXPIRED_DAYS)),
    clients: await deleteUnapprovedClients(database, daysAgo(UNAPPROVED_DAYS)),
  }
}
