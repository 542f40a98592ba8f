import type { ChainEntry } from './audit-entry.ts'
import type { StoredEntry, StoredHead, StoredReceipt } from './audit-read-store.ts'
import { FIRST_LINK } from './chained-entry.ts'
import { type InspectedEntry, inspectEntry } from './entry-flaw.ts'
import { receiptFlaw } from './receipt-flaw.ts'

/** An entry that the chain must hold, because somebody outside of its table said so. */
export interface KnownEntry extends ChainEntry {
  /** Who said so, as it stands in a sentence: `the signed head`. */
  from: string
}

/** The first entry that is wrong or missing, and what is wrong: one sentence. */
export interface ChainFinding {
  sequence: number
  sentence: string
  /** All entries fit; only the signature is missing. */
  isUnsigned?: true
}

export interface WatchedChain {
  workspaceId: number
  head: StoredHead | null
  /** Whether a key of ours signed that head. */
  isSigned: boolean
  /** More than the head that must be held. */
  known: readonly KnownEntry[]
}

/**
 * Sees the entries of a chain pass by in their order, and says which is the first that is wrong.
 *
 * Two neighbours that do not fit do not say by themselves which of them was changed. An entry is
 * vouched for by the one after it, and the last one by the signed head. So the watch waits for one
 * more entry: does that one vouch for the second of the two, then the first was changed.
 */
export class ChainWatch {
  readonly #chain: WatchedChain
  readonly #known: readonly KnownEntry[]
  #last: InspectedEntry | null = null
  /** Whether the last entry does not name the one before it. */
  #isLastDoubtful = false

  constructor(chain: WatchedChain) {
    this.#chain = chain
    const { head, isSigned, known } = chain
    this.#known = head && isSigned ? [{ ...head, from: 'the signed head' }, ...known] : known
  }

  /** The last entry that was seen; all before it were, too. */
  get last(): ChainEntry {
    return this.#last ? { sequence: this.#last.sequence, hash: this.#last.digest } : FIRST_LINK
  }

  see(stored: StoredEntry, receipts: readonly StoredReceipt[]): ChainFinding | null {
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
  end(): ChainFinding | null {
    if (this.#isLastDoubtful) return this.#doubtful()
    const { sequence: last } = this.last
    const missing = this.#known.find(({ sequence }) => sequence > last)
    if (missing) {
      const { from, sequence } = missing
      const sentence = `Entry ${last + 1} is missing: ${from} reaches to entry ${sequence}.`
      return { sequence: last + 1, sentence }
    }
    return this.#unsigned()
  }

  #gap(sequence: number, expected: number): ChainFinding {
    if (this.#isLastDoubtful) return this.#doubtful()
    if (sequence < expected) {
      return { sequence: expected, sentence: `Entry ${sequence} does not belong into the log.` }
    }
    return { sequence: expected, sentence: `Entry ${expected} is missing.` }
  }

  /** The entry before did not name the one before it: this entry says which of the two is wrong. */
  #doubt({ previousHash }: InspectedEntry): ChainFinding | null {
    if (!this.#isLastDoubtful) return null
    const { sequence, hash } = this.last
    return previousHash === hash.toString('hex') ? changed(sequence - 1) : this.#doubtful()
  }

  #doubtful(): ChainFinding {
    const { sequence } = this.last
    const sentence = this.#last?.flaw ?? `Entry ${sequence} does not follow entry ${sequence - 1}.`
    return { sequence, sentence }
  }

  /** Somebody outside says that another entry stood here, or none. */
  #strange({ sequence, digest, flaw }: InspectedEntry): ChainFinding | null {
    const other = this.#knownAt(sequence).find(({ hash }) => !hash.equals(digest))
    if (other) {
      return { sequence, sentence: flaw ?? `Entry ${sequence} is not the one of ${other.from}.` }
    }
    const { head, isSigned } = this.#chain
    if (!head || !isSigned || sequence <= head.sequence) return null
    return { sequence, sentence: `Entry ${sequence} stands behind the signed head.` }
  }

  #misfit({ sequence, previousHash }: InspectedEntry): ChainFinding | null {
    if (previousHash === this.last.hash.toString('hex')) return null
    if (sequence === 1) return { sequence, sentence: 'Entry 1 says that one stood before it.' }
    if (this.#knownAt(sequence).length > 0) return changed(sequence - 1)
    this.#isLastDoubtful = true
    return null
  }

  #flaw(entry: InspectedEntry, receipts: readonly StoredReceipt[]): ChainFinding | null {
    if (this.#isLastDoubtful) return null
    const sentence = entry.flaw ?? receiptFlaw(entry, receipts)
    return sentence === null ? null : { sequence: entry.sequence, sentence }
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
    return { sequence, sentence: missing, isUnsigned: true }
  }

  #knownAt(sequence: number): KnownEntry[] {
    return this.#known.filter(known => known.sequence === sequence)
  }
}

function changed(sequence: number): ChainFinding {
  const sentence = `Entry ${sequence} is not the one that entry ${sequence + 1} was written after.`
  return { sequence, sentence }
}
