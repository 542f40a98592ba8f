import type { AuditVerification } from '@signalbox/contract/agents/audit.ts'
import type { Database, Transaction } from '../runtime/db/database.ts'
import { type ChainLink, GENESIS_LINK } from './audit-entry.ts'
import {
  type ActionReceipt,
  findHead,
  readEntries,
  readReceipts,
  type StoredEntry,
  withSnapshot,
} from './audit-read-store.ts'
import { type ChainFinding, ChainVerifier, type TrustedEntry } from './chain-verifier.ts'
import { type AuditKeys, isSignedHead } from './signed-head.ts'

/**
 * Verifies the log of a workspace and reports the first changed or missing entry
 * (docs/operations/audit.md).
 */
export async function verifyChain(
  database: Database,
  keys: AuditKeys,
  { now, ...options }: ScanOptions & { now: Date },
): Promise<AuditVerification> {
  return toVerification(await scanChain(database, keys, options), now)
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
  if (entries === 0) return 'The log is empty.'
  if (entries === 1) return 'The only entry is unchanged.'
  return `All ${entries} entries are unchanged.`
}

/** Bounds the memory of a page: a receipt can have 10 KB. */
const PAGE_ENTRIES_MAX = 500

export interface ChainScan {
  entries: number
  /** The last entry of an intact chain; sequence 0 for an empty log. */
  last: ChainLink
  /** Null if the chain is intact. */
  finding: ChainFinding | null
}

/**
 * Compares tables that the log describes with an intact log. Passed in by callers, because this
 * module knows no other tables.
 */
export type VerifyRecords = (
  snapshot: Transaction,
  chain: { workspaceId: number; last: ChainLink },
) => Promise<ChainFinding | null>

interface ScanOptions {
  workspaceId: number
  verifyRecords?: VerifyRecords
  /** Entries that the chain must contain, besides its signed head. */
  trusted?: readonly TrustedEntry[]
  /** An entry that was verified before: only later entries are read. */
  from?: ChainLink
}

/**
 * Scans the log of a workspace in one snapshot, page by page. Recomputes every digest,
 * compares each entry with its neighbors, its position and its receipt, and the last entry with the
 * signed head. Then compares other tables with the log. Stops at the first finding.
 */
export function scanChain(
  database: Database,
  keys: AuditKeys,
  { workspaceId, trusted = [], verifyRecords = async () => null, from = GENESIS_LINK }: ScanOptions,
): Promise<ChainScan> {
  return withSnapshot(database, async snapshot => {
    const head = await findHead(snapshot, workspaceId)
    const isSigned = head !== null && isSignedHead(keys, head, head.signature)
    const verifier = new ChainVerifier({ workspaceId, head, isSigned, trusted, from })
    let entries = 0
    for await (const page of readPages(snapshot, { workspaceId, from })) {
      if (page.stray)
        return { entries, last: verifier.last, finding: strayReceiptFinding(page.stray) }
      for (const entry of page.entries) {
        entries += 1
        const finding = verifier.verifyNext(entry, page.receipts.get(entry.sequence) ?? [])
        if (finding) return { entries, last: verifier.last, finding }
      }
    }
    const { last } = verifier
    const finding =
      verifier.finish() ??
      (await findReceiptAfterEnd(snapshot, workspaceId, last)) ??
      (await verifyRecords(snapshot, { workspaceId, last }))
    return { entries, last, finding }
  })
}

interface ChainPage {
  entries: readonly StoredEntry[]
  receipts: ReadonlyMap<number, ActionReceipt[]>
  /** A receipt that names a sequence below 1. */
  stray: ActionReceipt | null
}

async function* readPages(
  snapshot: Transaction,
  { workspaceId, from }: { workspaceId: number; from: ChainLink },
): AsyncGenerator<ChainPage> {
  for (let after = from.sequence || undefined; ; ) {
    const range = { workspaceId, after }
    const entries = await readEntries(snapshot, { ...range, limit: PAGE_ENTRIES_MAX })
    const until = entries.at(-1)?.sequence
    if (until === undefined) return
    // One more than the entries reveals an entry with two receipts.
    const limit = entries.length + 1
    const receipts = await readReceipts(snapshot, { ...range, until, limit })
    const stray = receipts.find(({ sequence }) => sequence < 1) ?? null
    yield { entries, receipts: Map.groupBy(receipts, ({ sequence }) => sequence), stray }
    if (entries.length < PAGE_ENTRIES_MAX) return
    after = until
  }
}

/** A receipt beyond the last entry proves that its entry existed: both are written together. */
async function findReceiptAfterEnd(
  snapshot: Transaction,
  workspaceId: number,
  { sequence: last }: ChainLink,
): Promise<ChainFinding | null> {
  const after = last === 0 ? undefined : last
  const [receipt] = await readReceipts(snapshot, { workspaceId, after, limit: 1 })
  if (!receipt) return null
  const { actionId, sequence } = receipt
  const evidence = `the receipt of action ${actionId} names entry ${sequence}`
  return { sequence: last + 1, message: `Entry ${last + 1} is missing: ${evidence}.` }
}

function strayReceiptFinding({ actionId, sequence }: ActionReceipt): ChainFinding {
  const receipt = `The receipt of action ${actionId}`
  return { sequence: 1, message: `${receipt} names entry ${sequence}, which was never written.` }
}
