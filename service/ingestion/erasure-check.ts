import type { KeyObject } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { computeKeyedDigest, listIdentifierDigests } from '../events/person-identifiers.ts'
import { findSuppressedDigests, findTrackersWithErasures } from '../events/suppression-store.ts'
import type { EventDraft } from './event-draft.ts'

/** The key of `computeKeyedDigest`. Throws while it cannot be had. */
export type ErasureKeyProvider = () => Promise<KeyObject>

/** Nobody of the tracker is known to be erased, or what is known of this person. */
export type ErasureState =
  | 'unasked'
  | {
      /** Those digests of the person that were erased. */
      erased: ReadonlySet<string>
      /** All of them, keyed: none may have been erased when the event is stored. */
      keyed: readonly string[]
    }

/** Keyed digests cost microseconds an event, so they are made for these trackers alone. */
const ERASING_TRACKERS_MAX = 100_000

const NO_DIGESTS: ReadonlySet<string> = new Set()

/**
 * Remembers which trackers have erased anybody, and tells of each draft what to presume. It may be
 * wrong, and then the statement says so: an erasure is never taken back, so what is remembered
 * stays true, and what is not is learned from the first event that comes.
 */
export class ErasureCheck {
  readonly #database: Database
  readonly #erasureKey: ErasureKeyProvider
  readonly #erasing = new Set<string>()
  #key: KeyObject | null = null

  constructor(database: Database, erasureKey: ErasureKeyProvider) {
    this.#database = database
    this.#erasureKey = erasureKey
  }

  /** Without asking the store. */
  assumeState(draft: EventDraft): ErasureState {
    const key = this.#key
    if (key === null || !this.#erasing.has(draft.trackerId)) return 'unasked'
    return { erased: NO_DIGESTS, keyed: [...computeKeyedDigests(key, draft).keys()] }
  }

  /** Asks who of these was erased. The answer knows of these drafts alone. */
  async fetchStates(drafts: readonly EventDraft[]): Promise<(draft: EventDraft) => ErasureState> {
    const erasing = await findTrackersWithErasures(this.#database, [
      ...new Set(drafts.map(({ trackerId }) => trackerId)),
    ])
    if (erasing.size === 0) return () => 'unasked'
    const key = await this.#erasureKey()
    this.#remember(key, erasing)
    const asked = drafts.filter(({ trackerId }) => erasing.has(trackerId))
    const known = new Map(asked.map(draft => [draft, [...computeKeyedDigests(key, draft)]]))
    const suppressed = await findSuppressedDigests(
      this.#database,
      [...known].flatMap(([{ trackerId }, digests]) =>
        digests.map(([keyed]) => ({ trackerId, keyed })),
      ),
    )
    return draft => {
      const digests = known.get(draft)
      if (!digests) return 'unasked'
      const found = digests.filter(([keyed]) => suppressed.has(`${draft.trackerId} ${keyed}`))
      return {
        erased: new Set(found.map(([, digest]) => digest)),
        keyed: digests.map(([keyed]) => keyed),
      }
    }
  }

  #remember(key: KeyObject, erasing: ReadonlySet<string>): void {
    this.#key = key
    if (this.#erasing.size + erasing.size > ERASING_TRACKERS_MAX) this.#erasing.clear()
    for (const trackerId of erasing) this.#erasing.add(trackerId)
  }
}

/** Keyed digest -> digest. */
function computeKeyedDigests(key: KeyObject, draft: EventDraft): Map<string, string> {
  const digests = listIdentifierDigests(draft)
  return new Map(digests.map(digest => [computeKeyedDigest(key, draft.trackerId, digest), digest]))
}
