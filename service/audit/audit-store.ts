import type { Database, Transaction } from '../runtime/db/database.ts'
import type { ServiceLogger } from '../runtime/http/service-app.ts'
import { type AuditEntry, buildChainedEntry, type ChainLink, GENESIS_LINK } from './audit-entry.ts'
import type { StoredHead } from './audit-read-store.ts'
import { type AuditHead, type AuditKeys, isSignedHead, signHead } from './signed-head.ts'

/**
 * Appends entries to the audit logs. Every module with auditable actions receives one.
 */
export interface AuditTrail {
  /**
   * Appends to the chain of the workspace inside the caller's transaction, so that an action and
   * its entry are committed together. The chain stays locked until that transaction ends: append
   * last.
   */
  append(transaction: Transaction, entry: AuditEntry): Promise<ChainLink>
  /**
   * Writes the line of an entry to the program's log. Call it after the commit, so that the log
   * never reports a change that was rolled back; `commitAudited` does.
   */
  logCommitted(entry: AuditEntry, link: ChainLink): void
}

export function createAuditTrail(keys: AuditKeys, logger: ServiceLogger): AuditTrail {
  const signer: HeadSigner = {
    sign: head => signHead(keys, head),
    isSigned: (head, signature) => isSignedHead(keys, head, signature),
  }
  return {
    append: (transaction, entry) => appendEntry(transaction, entry, signer),
    logCommitted({ workspaceId: workspace_id, action: event, actor, subject, details }, link) {
      const { sequence } = link
      logger.info({ event, workspace_id, sequence, actor, subject, details }, 'audit entry')
    },
  }
}

interface HeadSigner {
  sign(head: AuditHead): Buffer
  isSigned(head: AuditHead, signature: Buffer): boolean
}

/**
 * Appends one entry to the chain of its workspace. Locking the head row first serializes concurrent
 * appends, so no two entries share a predecessor. If none of our keys signed the current head, the
 * next head stays unsigned as well: a signature would make forged entries look genuine. The entry
 * is still written, and verification reports the log until an operator reviews it (`signChain`).
 */
async function appendEntry(
  { query }: Transaction,
  entry: AuditEntry,
  signer: HeadSigner,
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
    const signature = canSignNext(signer, { workspaceId: workspace_id, ...head })
      ? signer.sign({ workspaceId: workspace_id, sequence, hash })
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

/** True for a new chain, and for a chain whose head one of our keys signed. */
function canSignNext(
  { isSigned }: HeadSigner,
  { signature, ...head }: AuditHead & { signature: Buffer },
): boolean {
  return head.sequence === 0 || isSigned(head, signature)
}

const PAGE_HEADS_MAX = 500

/** The heads of all logs, ordered by workspace and read in pages. */
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

/** False if an entry was appended in the meantime, which signed a new head anyway. */
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
 * Overwrites the head. If an entry was appended since the head was read, the next append violates
 * the primary key and rolls this back.
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
