import type { Database, Transaction } from '../runtime/db/database.ts'
import type { AuditEntry, ChainLink } from './audit-entry.ts'
import type { AuditTrail } from './audit-store.ts'

export interface AuditedContext {
  database: Database
  audit: AuditTrail
}

/**
 * Commits a change together with its audit entries, and writes a log line for each entry once it is
 * committed, so that the log never reports a change that was rolled back. Entries are appended
 * last, because a chain stays locked until the transaction ends, and in the order of the
 * workspaces, so that two changes of several workspaces cannot deadlock.
 */
export async function commitAudited<Result>(
  { database, audit }: AuditedContext,
  change: (transaction: Transaction, record: (entry: AuditEntry) => void) => Promise<Result>,
): Promise<Result> {
  const entries: AuditEntry[] = []
  const links: ChainLink[] = []
  const result = await database.query.transaction().execute(async query => {
    const changed = await change({ query }, entry => void entries.push(entry))
    entries.sort((one, other) => one.workspaceId - other.workspaceId)
    for (const entry of entries) links.push(await audit.append({ query }, entry))
    return changed
  })
  for (const [index, entry] of entries.entries()) {
    audit.logCommitted(entry, links[index] as ChainLink)
  }
  return result
}
