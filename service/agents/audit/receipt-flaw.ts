import { hash } from 'node:crypto'
import type { StoredReceipt } from './audit-read-store.ts'
import type { InspectedEntry } from './entry-flaw.ts'

/** Compares an entry with the receipts that name it: a sentence about what is wrong, or null. */
export function receiptFlaw(
  entry: InspectedEntry,
  receipts: readonly StoredReceipt[],
): string | null {
  const { sequence, documentSha256 } = entry
  const [receipt, another] = receipts
  if (documentSha256 === null) {
    return receipt
      ? `The receipt of action ${receipt.actionId} names entry ${sequence}, which has no receipt.`
      : null
  }
  if (!receipt) return `The receipt that entry ${sequence} names is missing.`
  if (another) return `Entry ${sequence} has more than one receipt.`
  return isOf(receipt, entry)
    ? null
    : `The receipt of action ${receipt.actionId} is not the one that entry ${sequence} names.`
}

function isOf(receipt: StoredReceipt, { subject, documentSha256, digest }: InspectedEntry) {
  const documentDigest = hash('sha256', receipt.document, 'buffer')
  return (
    documentDigest.toString('hex') === documentSha256 &&
    documentDigest.equals(receipt.documentSha256) &&
    digest.equals(receipt.hash) &&
    subject.type === 'action' &&
    subject.id === String(receipt.actionId)
  )
}
