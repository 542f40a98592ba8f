import { visitorDigest } from './identifiers.ts'
import type { LedgerEntry } from './ledger-entry.ts'
import { withdrawalKeysOfDigest } from './visitor-keys.ts'

/**
 * An event of an erased person as the ledger may keep it: that it happened, when, for how much and
 * by which decision. `eraseEvents` in erase-store.ts leaves the same of an event that is there
 * already. A withdrawal stays in force under the person's other keys.
 *
 * The digest of the body goes, since whoever knows the rest of the body could try addresses against
 * it.
 */
export function erasedEntry(entry: LedgerEntry, digests: ReadonlySet<string>): LedgerEntry {
  const forgotten = new Set([...digests].flatMap(withdrawalKeysOfDigest))
  const isForgotten = (key: string) => forgotten.has(key) || digests.has(visitorDigest(key))
  return {
    ...entry,
    bodyDigest: Buffer.alloc(0),
    payload: null,
    session: null,
    withdrawalOf: entry.withdrawalOf.filter(key => !isForgotten(key)),
  }
}
