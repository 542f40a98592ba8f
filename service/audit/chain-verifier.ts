import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import { type JsonObject, objectOrEmpty, parseJsonObject } from '../runtime/util/is-object.ts'
import { type ChainLink, GENESIS_LINK, hashBody } from './audit-entry.ts'
import type { ActionReceipt, StoredEntry, StoredHead } from './audit-read-store.ts'

/** An entry that the chain must contain according to a source outside its table. */
export interface TrustedEntry extends ChainLink {
  /** The source as used in findings, such as `the signed head`. */
  source: string
}

/** The first changed or missing entry, and one sentence about the problem. */
export interface ChainFinding {
  sequence: number
  message: string
  /** All entries are consistent; only the signature is missing. */
  isUnsigned?: true
}

interface ChainVerifierInput {
  workspaceId: number
  head: StoredHead | null
  /** Whether one of our keys signed the head. */
  isSigned: boolean
  /** Entries that the chain must contain, besides the signed head. */
  trusted: readonly TrustedEntry[]
  /** The entry before the first one; the beginning of the chain by default. */
  from?: ChainLink
}

/**
 * Receives the entries of a chain in order and reports the first one that is wrong.
 *
 * If two neighbors do not match, either of them may have been changed. The successor of an entry
 * confirms it, and the signed head confirms the last entry. The verifier therefore waits for one
 * more entry: if that entry confirms the second of the two, the first one was changed.
 */
export class ChainVerifier {
  readonly #input: ChainVerifierInput
  readonly #trusted: readonly TrustedEntry[]
  #last: InspectedEntry | null = null
  /** Whether the last entry does not match its predecessor. */
  #isLastInDoubt = false

  constructor(input: ChainVerifierInput) {
    this.#input = input
    const { head, isSigned, trusted } = input
    this.#trusted =
      head && isSigned ? [{ ...head, source: 'the signed head' }, ...trusted] : trusted
  }

  /** The last entry received; every earlier one was received as well. */
  get last(): ChainLink {
    const last = this.#last
    if (last) return { sequence: last.sequence, hash: last.digest }
    return this.#input.from ?? GENESIS_LINK
  }

  verifyNext(stored: StoredEntry, receipts: readonly ActionReceipt[]): ChainFinding | null {
    const expected = this.last.sequence + 1
    if (stored.sequence !== expected) return this.#missingEntry(stored.sequence, expected)
    const entry = inspectEntry(stored, this.#input.workspaceId)
    const found =
      this.#resolveDoubt(entry) ??
      this.#checkTrusted(entry) ??
      this.#checkLink(entry) ??
      this.#checkContent(entry, receipts)
    this.#last = entry
    return found
  }

  /** Call after the last entry, if none of them had a finding. */
  finish(): ChainFinding | null {
    if (this.#isLastInDoubt) return this.#findingOfLast()
    const { sequence: last } = this.last
    const missing = this.#trusted.find(({ sequence }) => sequence > last)
    if (missing) {
      const { source, sequence } = missing
      const message = `Entry ${last + 1} is missing: ${source} is at entry ${sequence}.`
      return { sequence: last + 1, message }
    }
    return this.#checkSignature()
  }

  #missingEntry(sequence: number, expected: number): ChainFinding {
    if (this.#isLastInDoubt) return this.#findingOfLast()
    if (sequence < expected) {
      return { sequence: expected, message: `Entry ${sequence} does not belong in the log.` }
    }
    return { sequence: expected, message: `Entry ${expected} is missing.` }
  }

  /** Decides which of the last two entries is wrong, if they did not match. */
  #resolveDoubt({ previousHash }: InspectedEntry): ChainFinding | null {
    if (!this.#isLastInDoubt) return null
    const { sequence, hash } = this.last
    return previousHash === hash.toString('hex')
      ? changedEntry(sequence - 1)
      : this.#findingOfLast()
  }

  #findingOfLast(): ChainFinding {
    const { sequence } = this.last
    const message =
      this.#last?.problem ?? `Entry ${sequence} does not follow entry ${sequence - 1}.`
    return { sequence, message }
  }

  /** Compares the entry with trusted entries and the end of the log. */
  #checkTrusted({ sequence, digest, problem }: InspectedEntry): ChainFinding | null {
    const other = this.#trustedAt(sequence).find(({ hash }) => !hash.equals(digest))
    if (other) {
      return { sequence, message: problem ?? `Entry ${sequence} does not match ${other.source}.` }
    }
    const { head, isSigned } = this.#input
    if (!head || !isSigned || sequence <= head.sequence) return null
    return { sequence, message: `Entry ${sequence} comes after the signed head.` }
  }

  #checkLink({ sequence, previousHash }: InspectedEntry): ChainFinding | null {
    if (previousHash === this.last.hash.toString('hex')) return null
    if (sequence === 1) return { sequence, message: 'Entry 1 names a previous entry.' }
    if (this.#trustedAt(sequence).length > 0) return changedEntry(sequence - 1)
    this.#isLastInDoubt = true
    return null
  }

  #checkContent(entry: InspectedEntry, receipts: readonly ActionReceipt[]): ChainFinding | null {
    if (this.#isLastInDoubt) return null
    const message = entry.problem ?? findReceiptProblem(entry, receipts)
    return message === null ? null : { sequence: entry.sequence, message }
  }

  /** All entries are consistent, but no signed head confirms the last one. */
  #checkSignature(): ChainFinding | null {
    const { head, isSigned } = this.#input
    const { sequence: last } = this.last
    if (isSigned || (!head && last === 0)) return null
    const confirmed = Math.max(0, ...this.#trusted.map(({ sequence }) => sequence))
    const sequence = Math.max(1, confirmed > 0 && confirmed < last ? confirmed + 1 : last)
    const problem = head
      ? 'The head of the log is not signed by a key of this installation.'
      : 'The signed head of the log is missing.'
    const message = `${problem} Nothing confirms entry ${sequence}.`
    return { sequence, message, isUnsigned: true }
  }

  #trustedAt(sequence: number): TrustedEntry[] {
    return this.#trusted.filter(trusted => trusted.sequence === sequence)
  }
}

function changedEntry(sequence: number): ChainFinding {
  return {
    sequence,
    message: `Entry ${sequence} does not match its hash in entry ${sequence + 1}.`,
  }
}

/** An entry as its own body describes it. */
interface InspectedEntry {
  sequence: number
  /** Digest of the body as stored. */
  digest: Buffer
  /** Null if the body names no predecessor. */
  previousHash: string | null
  subject: { type: unknown; id: unknown }
  /** Digest of the receipt that was written with the entry; null if it has none. */
  documentSha256: unknown
  /** One sentence about a problem within the entry itself, or null. */
  problem: string | null
}

/** Recomputes the digest of an entry and compares its body with its row. */
function inspectEntry(entry: StoredEntry, workspaceId: number): InspectedEntry {
  const { sequence } = entry
  const body = parseJsonObject(entry.body)
  const digest = hashBody(entry.body)
  const { previous_hash, subject, details } = body ?? {}
  const { type, id } = objectOrEmpty(subject)
  const { document_sha256: documentSha256 = null } = objectOrEmpty(details)
  const previousHash = typeof previous_hash === 'string' ? previous_hash : null
  const problem = findEntryProblem(entry, { body, digest, workspaceId })
  return { sequence, digest, previousHash, subject: { type, id }, documentSha256, problem }
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
  if (!digest.equals(entry.hash))
    return `The text of entry ${entry.sequence} does not match its hash.`
  if (!body) return `${name} is not a JSON object.`
  if (!isCanonical(entry.body, body)) return `${name} is not canonical JSON.`
  if (body.workspace_id !== workspaceId) return `${name} was written for another workspace.`
  if (body.sequence !== entry.sequence) return `${name} contains the sequence of another entry.`
  const { action, subjectType, subjectId } = entry.columns
  const subject = objectOrEmpty(body.subject)
  const hasMatchingColumns =
    action === body.action && subjectType === subject.type && subjectId === subject.id
  return hasMatchingColumns ? null : `The columns of entry ${entry.sequence} do not match its text.`
}

function isCanonical(text: string, body: object): boolean {
  try {
    return canonicalJson(body) === text
  } catch {
    return false
  }
}

/** Compares an entry with the receipts that name it; null if they match. */
function findReceiptProblem(
  entry: InspectedEntry,
  receipts: readonly ActionReceipt[],
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
    : `The receipt of action ${receipt.actionId} does not match entry ${sequence}.`
}

function isReceiptOf(receipt: ActionReceipt, { subject, documentSha256, digest }: InspectedEntry) {
  const documentDigest = hash('sha256', receipt.document, 'buffer')
  return (
    documentDigest.toString('hex') === documentSha256 &&
    documentDigest.equals(receipt.documentSha256) &&
    digest.equals(receipt.hash) &&
    subject.type === 'action' &&
    subject.id === String(receipt.actionId)
  )
}
