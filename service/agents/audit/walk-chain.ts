import type { Database, Transaction } from '../../db/database.ts'
import type { ChainEntry } from './audit-entry.ts'
import {
  findHead,
  inSnapshot,
  readEntries,
  readReceipts,
  type StoredEntry,
  type StoredReceipt,
} from './audit-read-store.ts'
import { type ChainFinding, ChainWatch, type KnownEntry } from './chain-watch.ts'
import { type AuditKeys, isSignedHead } from './head-signature.ts'

/** What is held in memory at once: receipts may have 10 KB each. */
const PAGE_ENTRIES_MAX = 500

export interface ChainWalk {
  /** How many entries were read. */
  entries: number
  /** The last entry of an intact chain; sequence 0 where nothing was written yet. */
  last: ChainEntry
  /** Null: the chain is intact. */
  finding: ChainFinding | null
}

export interface ChainOrder {
  workspaceId: number
  /** Entries that the chain must hold, beside the one of its signed head. */
  known?: readonly KnownEntry[]
}

/**
 * Walks along the whole log of a workspace, a page at a time, in one snapshot: recomputes every
 * digest, compares each entry with its neighbours, its place and its receipt, and the last one with
 * the signed head. Ends at the first entry that is wrong or missing.
 */
export function walkChain(
  database: Database,
  keys: AuditKeys,
  { workspaceId, known = [] }: ChainOrder,
): Promise<ChainWalk> {
  return inSnapshot(database, async snapshot => {
    const head = await findHead(snapshot, workspaceId)
    const isSigned = head !== null && isSignedHead(keys, head, head.signature)
    const watch = new ChainWatch({ workspaceId, head, isSigned, known })
    let entries = 0
    for await (const page of pagesOf(snapshot, workspaceId)) {
      if (page.stray) return { entries, last: watch.last, finding: strayReceipt(page.stray) }
      for (const entry of page.entries) {
        entries += 1
        const finding = watch.see(entry, page.receipts.get(entry.sequence) ?? [])
        if (finding) return { entries, last: watch.last, finding }
      }
    }
    const finding = watch.end() ?? (await receiptBehind(snapshot, workspaceId, watch.last))
    return { entries, last: watch.last, finding }
  })
}

interface ChainPage {
  entries: readonly StoredEntry[]
  receipts: ReadonlyMap<number, StoredReceipt[]>
  /** A receipt of a place before the first one; there is no such place. */
  stray: StoredReceipt | null
}

async function* pagesOf(snapshot: Transaction, workspaceId: number): AsyncGenerator<ChainPage> {
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
async function receiptBehind(
  snapshot: Transaction,
  workspaceId: number,
  { sequence: last }: ChainEntry,
): Promise<ChainFinding | null> {
  const after = last === 0 ? undefined : last
  const [receipt] = await readReceipts(snapshot, { workspaceId, after, limit: 1 })
  if (!receipt) return null
  const { actionId, sequence } = receipt
  const receiptNames = `the receipt of action ${actionId} names entry ${sequence}`
  return { sequence: last + 1, sentence: `Entry ${last + 1} is missing: ${receiptNames}.` }
}

function strayReceipt({ actionId, sequence }: StoredReceipt): ChainFinding {
  const receipt = `The receipt of action ${actionId}`
  return { sequence: 1, sentence: `${receipt} names entry ${sequence}, which was never written.` }
}
