import type { Database, Transaction } from '../db/database.ts'
import { type AuditEntry, buildChainedEntry, type ChainLink, GENESIS_LINK } from './audit-entry.ts'
import type { StoredHead } from './audit-read-store.ts'
import { type AuditHead, type AuditKeys, isSignedHead, signHead } from './signed-head.ts'

/**
 * The way to write something down for good. Every room that does what people must be able to see
 * later is given one.
 */
export interface AuditTrail {
  /**
   * Appends to the chain of the workspace, inside the caller's transaction, so that what was done
   * and its entry are one. The chain is held until that transaction ends: append last.
   */
  append(transaction: Transaction, entry: AuditEntry): Promise<ChainLink>
}

export function createAuditTrail(keys: AuditKeys): AuditTrail {
  const seal: HeadSigner = {
    sign: head => signHead(keys, head),
    isSigned: (head, signature) => isSignedHead(keys, head, signature),
  }
  return { append: (transaction, entry) => appendEntry(transaction, entry, seal) }
}

/** How heads are signed, and what is one that was. */
interface HeadSigner {
  sign(head: AuditHead): Buffer
  isSigned(head: AuditHead, signature: Buffer): boolean
}

/**
 * Adds one entry to the chain of its workspace. The row of the head is locked first, so that two
 * who append at once do it one after the other, and neither names the same entry as the one before.
 * After a head that no key of ours signed the next one is not signed either: a signature would make
 * what somebody forged look like ours. What is done is written down all the same, and verifying
 * tells of it until an operator has looked (`signChain`).
 */
async function appendEntry(
  { query }: Transaction,
  entry: AuditEntry,
  seal: HeadSigner,
): Promise<ChainLink> {
  const { workspaceId: workspace_id } = entry
  const append = async (transaction: Transaction['query']) => {
    await transaction
      .insertInto('audit_heads')
      .values({ workspace_id, ...GENESIS_LINK, signature: UNSIGNED })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    const head = await transaction
      .selectFrom('audit_heads')
      .select(['sequence', 'hash', 'signature'])
      .where('workspace_id', '=', workspace_id)
      .forUpdate()
      .executeTakeFirstOrThrow()
    const { sequence, hash, body } = buildChainedEntry(entry, head)
    await transaction
      .insertInto('audit_entries')
      .values({ workspace_id, sequence, body, hash })
      .execute()
    const signature = canSignNext(seal, { workspaceId: workspace_id, ...head })
      ? seal.sign({ workspaceId: workspace_id, sequence, hash })
      : UNSIGNED
    await transaction
      .updateTable('audit_heads')
      .set({ sequence, hash, signature })
      .where('workspace_id', '=', workspace_id)
      .execute()
    return { sequence, hash }
  }
  return query.isTransaction ? append(query) : query.transaction().execute(append)
}

const UNSIGNED = Buffer.alloc(0)

/** Whether what comes next may be signed: a new chain, or one that ends where we left it. */
function canSignNext(
  { isSigned }: HeadSigner,
  { signature, ...head }: AuditHead & { signature: Buffer },
): boolean {
  return head.sequence === 0 || isSigned(head, signature)
}

const PAGE_HEADS_MAX = 500

/** The heads of all logs, by workspace, read a page at a time. */
export async function* streamHeads({ query }: Database): AsyncGenerator<StoredHead> {
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
export async function upsertHead(
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
