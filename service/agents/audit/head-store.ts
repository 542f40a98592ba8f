import type { Database, Transaction } from '../../db/database.ts'
import type { StoredHead } from './audit-read-store.ts'
import type { AuditHead } from './head-signature.ts'

const PAGE_HEADS_MAX = 500

/** The heads of all logs, by workspace, read a page at a time. */
export async function* everyHead({ query }: Database): AsyncGenerator<StoredHead> {
  for (let last = 0; ; ) {
    const rows = await query
      .selectFrom('audit_heads')
      .select(['workspace_id', 'sequence', 'hash', 'signature'])
      .where('workspace_id', '>', last)
      .orderBy('workspace_id')
      .limit(PAGE_HEADS_MAX)
      .execute()
    for (const { workspace_id, ...head } of rows) yield { workspaceId: workspace_id, ...head }
    last = rows.at(-1)?.workspace_id ?? last
    if (rows.length < PAGE_HEADS_MAX) return
  }
}

/** False when something was appended meanwhile; then the head was signed anew anyhow. */
export async function replaceSignature(
  { query }: Database,
  read: StoredHead,
  signature: Buffer,
): Promise<boolean> {
  const replaced = await query
    .updateTable('audit_heads')
    .set({ signature })
    .where('workspace_id', '=', read.workspaceId)
    .where('sequence', '=', read.sequence)
    .where('signature', '=', read.signature)
    .returning('workspace_id')
    .executeTakeFirst()
  return replaced !== undefined
}

/**
 * Writes a head over the present one. Something that was appended since it was read does not
 * fit behind it: the next entry then fails on its place, and this with it.
 */
export async function putHead(
  { query }: Transaction,
  { workspaceId, sequence, hash }: AuditHead,
  signature: Buffer,
): Promise<void> {
  await query
    .insertInto('audit_heads')
    .values({ workspace_id: workspaceId, sequence, hash, signature })
    .onConflict(conflict =>
      conflict.column('workspace_id').doUpdateSet(({ ref }) => ({
        sequence: ref('excluded.sequence'),
        hash: ref('excluded.hash'),
        signature: ref('excluded.signature'),
      })),
    )
    .execute()
}
