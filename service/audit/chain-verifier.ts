import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import { type JsonObject, objectOrEmpty, parseJsonObject } from '../util/is-object.ts'
import { type ChainLink, GENESIS_LINK, hashBody } from './audit-entry.ts'
import type { StoredEntry, StoredHead, StoredReceipt } from './audit-read-store.ts'

/** An entry that the chain must hold, because somebody outside of its table said so. */
export interface TrustedEntry extends ChainLink {
  /** Who said so, as it stands in a sentence: `the signed head`. */
  source: string
}

/** The first entry that is wrong or missing, and what is wrong: one sentence. */
export interface ChainFinding {
  sequence: number
  message: string
  /** All entries fit; only the signature is missing. */
  isUnsigned?: true
}

interface ChainVerifierInput {
  workspaceId: number
  head: StoredHead | null
  /** Whether a key of ours signed that head. */
  isSigned: boolean
  /** More than the head that must be held. */
  known: readonly TrustedEntry[]
}

/**
 * Sees the entries of a chain pass by in their order, and says which is the first that is wrong.
 *
 * Two neighbours that do not fit do not say by themselves which of them was changed. An entry is
 * vouched for by the one after it, and the last one by the signed head. So the watch waits for one
 * more entry: does that one vouch for the second of the two, then the first was changed.
 */
export class ChainVerifier {
  readonly #chain: ChainVerifierInput
  readonly #known: readonly TrustedEntry[]
  #last: InspectedEntry | null = null
  /** Whether the last entry does not name the one before it. */
  #isLastDoubtful = false

  constructor(chain: ChainVerifierInput) {
    this.#chain = chain
    const { head, isSigned, known } = chain
    this.#known = head && isSigned ? [{ ...head, source: 'the signed head' }, ...known] : known
  }

  /** The last entry that was seen; all before it were, too. */
  get last(): ChainLink {
    return this.#last ? { sequence: this.#last.sequence, hash: this.#last.digest } : GENESIS_LINK
  }

  verifyNext(stored: StoredEntry, receipts: readonly StoredReceipt[]): ChainFinding | null {
    const expected = this.last.sequence + 1
    if (stored.sequence !== expected) return this.#gap(stored.sequence, expected)
    const entry = inspectEntry(stored, this.#chain.workspaceId)
    const found =
      this.#doubt(entry) ??
      this.#strange(entry) ??
      this.#misfit(entry) ??
      this.#flaw(entry, receipts)
    this.#last = entry
    return found
  }

  /** To be called when all entries were seen and nothing was found. */
  finish(): ChainFinding | null {
    if (this.#isLastDoubtful) return this.#doubtful()
    const { sequence: last } = this.last
    const missing = this.#known.find(({ sequence }) => sequence > last)
    if (missing) {
      const { source: from, sequence } = missing
      const sentence = `Entry ${last + 1} is missing: ${from} reaches to entry ${sequence}.`
      return { sequence: last + 1, message: sentence }
    }
    return this.#unsigned()
  }

  #gap(sequence: number, expected: number): ChainFinding {
    if (this.#isLastDoubtful) return this.#doubtful()
    if (sequence < expected) {
      return { sequence: expected, message: `Entry ${sequence} does not belong into the log.` }
    }
    return { sequence: expected, message: `Entry ${expected} is missing.` }
  }

  /** The entry before did not name the one before it: this entry says which of the two is wrong. */
  #doubt({ previousHash }: InspectedEntry): ChainFinding | null {
    if (!this.#isLastDoubtful) return null
    const { sequence, hash } = this.last
    return previousHash === hash.toString('hex') ? changedEntry(sequence - 1) : this.#doubtful()
  }

  #doubtful(): ChainFinding {
    const { sequence } = this.last
    const sentence =
      this.#last?.problem ?? `Entry ${sequence} does not follow entry ${sequence - 1}.`
    return { sequence, message: sentence }
  }

  /** Somebody outside says that another entry stood here, or none. */
  #strange({ sequence, digest, problem: flaw }: InspectedEntry): ChainFinding | null {
    const other = this.#knownAt(sequence).find(({ hash }) => !hash.equals(digest))
    if (other) {
      return { sequence, message: flaw ?? `Entry ${sequence} is not the one of ${other.source}.` }
    }
    const { head, isSigned } = this.#chain
    if (!head || !isSigned || sequence <= head.sequence) return null
    return { sequence, message: `Entry ${sequence} stands behind the signed head.` }
  }

  #misfit({ sequence, previousHash }: InspectedEntry): ChainFinding | null {
    if (previousHash === this.last.hash.toString('hex')) return null
    if (sequence === 1) return { sequence, message: 'Entry 1 says that one stood before it.' }
    if (this.#knownAt(sequence).length > 0) return changedEntry(sequence - 1)
    this.#isLastDoubtful = true
    return null
  }

  #flaw(entry: InspectedEntry, receipts: readonly StoredReceipt[]): ChainFinding | null {
    if (this.#isLastDoubtful) return null
    const sentence = entry.problem ?? findReceiptProblem(entry, receipts)
    return sentence === null ? null : { sequence: entry.sequence, message: sentence }
  }

  /** Everything fits, but no signed head vouches for it. */
  #unsigned(): ChainFinding | null {
    const { head, isSigned } = this.#chain
    const { sequence: last } = this.last
    if (isSigned || (!head && last === 0)) return null
    const vouched = Math.max(0, ...this.#known.map(({ sequence }) => sequence))
    const sequence = Math.max(1, vouched > 0 && vouched < last ? vouched + 1 : last)
    const sentence = head
      ? `The head of the log is not signed by a key of this installation.`
      : `The signed head of the log is missing.`
    const missing = `${sentence} Nothing vouches for entry ${sequence}.`
    return { sequence, message: missing, isUnsigned: true }
  }

  #knownAt(sequence: number): TrustedEntry[] {
    return this.#known.filter(known => known.sequence === sequence)
  }
}

function changedEntry(sequence: number): ChainFinding {
  const sentence = `Entry ${sequence} is not the one that entry ${sequence + 1} was written after.`
  return { sequence, message: sentence }
}

/** An entry as its own text says it is. */
interface InspectedEntry {
  sequence: number
  /** Of the text as it stands there now. */
  digest: Buffer
  /** What the text names as the one before; null where it names nothing. */
  previousHash: string | null
  subject: { type: unknown; id: unknown }
  /** The digest of the receipt that was written with it; null: none. */
  documentSha256: unknown
  /** What is wrong with it whatever stands around it: a sentence, or null. */
  problem: string | null
}

/** Recomputes the digest of an entry and compares its text with the place where it stands. */
function inspectEntry(entry: StoredEntry, workspaceId: number): InspectedEntry {
  const { sequence } = entry
  const body = parseJsonObject(entry.body)
  const digest = hashBody(entry.body)
  const { previous_hash, subject, details } = body ?? {}
  const { type, id } = objectOrEmpty(subject)
  const { document_sha256: documentSha256 = null } = objectOrEmpty(details)
  const previousHash = typeof previous_hash === 'string' ? previous_hash : null
  const flaw = findEntryProblem(entry, { body, digest, workspaceId })
  return { sequence, digest, previousHash, subject: { type, id }, documentSha256, problem: flaw }
}

interface ParsedEntry {
  body: JsonObject | null
  digest: Buffer
  workspaceId: number
}

function findEntryProblem(
  entry: StoredEntry,
  { body, digest, workspaceId }: ParsedEntry,
): string | null {
  const name = `Entry ${entry.sequence}`
  if (!digest.equals(entry.hash)) return `${name} is not the text that its digest is of.`
  if (!body) return `${name} is not a JSON object.`
  if (!isCanonical(entry.body, body)) return `${name} is not written as the log writes it.`
  if (body.workspace_id !== workspaceId) return `${name} was written for another workspace.`
  if (body.sequence !== entry.sequence) {
    return `${name} says of itself that it is another entry.`
  }
  const { action, subjectType, subjectId } = entry.columns
  const subject = objectOrEmpty(body.subject)
  const isRead = action === body.action && subjectType === subject.type && subjectId === subject.id
  return isRead ? null : `The columns beside entry ${entry.sequence} do not say what it says.`
}

function isCanonical(text: string, body: object): boolean {
  try {
    return canonicalJson(body) === text
  } catch {
    return false
  }
}

/** Compares an entry with the receipts that name it: a sentence about what is wrong, or null. */
function findReceiptProblem(
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
  return isReceiptOf(receipt, entry)
    ? null
    : `The receipt of action ${receipt.actionId} is not the one that entry ${sequence} names.`
}

function isReceiptOf(receipt: StoredReceipt, { subject, documentSha256, digest }: InspectedEntry) {
  const documentDigest = hash('sha256', receipt.document, 'buffer')
  return (
    documentDigest.toString('hex') === documentSha256 &&
    documentDigest.equals(receipt.documentSha256) &&
    digest.equals(receipt.hash) &&
    subject.type === 'action' &&
    subject.id === String(receipt.actionId)
  )
}
