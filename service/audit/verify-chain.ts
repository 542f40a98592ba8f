import type { AuditVerification } from '@signalbox/contract/agents/audit.ts'
import type { Database, Transaction } from '../db/database.ts'
import type { ChainLink } from './audit-entry.ts'
import {
  findHead,
  readEntries,
  readReceipts,
  type StoredEntry,
  type StoredReceipt,
  withSnapshot,
} from './audit-read-store.ts'
import { type ChainFinding, ChainVerifier, type TrustedEntry } from './chain-verifier.ts'
import { type AuditKeys, isSignedHead } from './signed-head.ts'

/**
 * Whether the log of a workspace is as it was written, and if not, the first entry that is wrong or
 * missing (docs/operations/audit.md).
 */
export async function verifyChain(
  database: Database,
  keys: AuditKeys,
  { now, ...order }: ScanOptions & { now: Date },
): Promise<AuditVerification> {
  return toVerification(await scanChain(database, keys, order), now)
}

export function toVerification({ entries, finding }: ChainScan, at: Date): AuditVerification {
  return {
    is_intact: finding === null,
    entries,
    broken_at: finding?.sequence ?? null,
    finding: finding?.message ?? intactMessage(entries),
    verified_at: at.toISOString(),
  }
}

function intactMessage(entries: number): string {
  if (entries === 0) return 'Nothing has been written yet.'
  if (entries === 1) return 'The only entry is as it was written.'
  return `All ${entries} entries are as they were written.`
}

/** What is held in memory at once: receipts may have 10 KB each. */
const PAGE_ENTRIES_MAX = 500

export interface ChainScan {
  /** How many entries were read. */
  entries: number
  /** The last entry of an intact chain; sequence 0 where nothing was written yet. */
  last: ChainLink
  /** Null: the chain is intact. */
  finding: ChainFinding | null
}

interface ScanOptions {
  workspaceId: number
  /** Entries that the chain must hold, beside the one of its signed head. */
  known?: readonly TrustedEntry[]
}

/**
 * Walks along the whole log of a workspace, a page at a time, in one snapshot: recomputes every
 * digest, compares each entry with its neighbours, its place and its receipt, and the last one with
 * the signed head. Ends at the first entry that is wrong or missing.
 */
export function scanChain(
  database: Database,
  keys: AuditKeys,
  { workspaceId, known = [] }: ScanOptions,
): Promise<ChainScan> {
  return withSnapshot(database, async snapshot => {
    const head = await findHead(snapshot, workspaceId)
    const isSigned = head !== null && isSignedHead(keys, head, head.signature)
    const watch = new ChainVerifier({ workspaceId, head, isSigned, known })
    let entries = 0
    for await (const page of readPages(snapshot, workspaceId)) {
      if (page.stray) return { entries, last: watch.last, finding: strayReceiptFinding(page.stray) }
      for (const entry of page.entries) {
        entries += 1
        const finding = watch.verifyNext(entry, page.receipts.get(entry.sequence) ?? [])
        if (finding) return { entries, last: watch.last, finding }
      }
    }
    const finding = watch.finish() ?? (await findReceiptAfterEnd(snapshot, workspaceId, watch.last))
    return { entries, last: watch.last, finding }
  })
}

interface ChainPage {
  entries: readonly StoredEntry[]
  receipts: ReadonlyMap<number, StoredReceipt[]>
  /** A receipt of a place before the first one; there is no such place. */
  stray: StoredReceipt | null
}

async function* readPages(snapshot: Transaction, workspaceId: number): AsyncGenerator<ChainPage> {
  for (let after: number | undefined; ; ) {
    const range = { workspaceId, after }
    const entries = await readEntries(snapshot, { ...range, limit: PAGE_ENTRIES_MAX })
    const until = entries.at(-1)?.sequence
    if (until === undefined) return
    // One more than there are entries: then one of them has two.
    const limit = entries.length + 1
    const receipts = await readReceipts(snapshot, { ...range, until, limit })
    const stray = receipts.find(({ sequence }) => sequence < 1) ?? null
    yield { entries, receipts: Map.groupBy(receipts, ({ sequence }) => sequence), stray }
    if (entries.length < PAGE_ENTRIES_MAX) return
    after = until
  }
}

/** A receipt of an entry after the last one: that entry was there, for they come together. */
async function findReceiptAfterEnd(
  snapshot: Transaction,
  workspaceId: number,
  { sequence: last }: ChainLink,
): Promise<ChainFinding | null> {
  const after = last === 0 ? undefined : last
  const [receipt] = await readReceipts(snapshot, { workspaceId, after, limit: 1 })
  if (!receipt) return null
  const { actionId, sequence } = receipt
  const receiptNames = `the receipt of action ${actionId} names entry ${sequence}`
  return { sequence: last + 1, message: `Entry ${last + 1} is missing: ${receiptNames}.` }
}

function strayReceiptFinding({ actionId, sequence }: StoredReceipt): ChainFinding {
  const receipt = `The receipt of action ${actionId}`
  return { sequence: 1, message: `${receipt} names entry ${sequence}, which was never written.` }
}
