import type { KeyObject } from 'node:crypto'
import type { Database } from '../../runtime/db/database.ts'
import { listFreeTextDigests } from '../events/free-text.ts'
import {
  computeKeyedDigest,
  type ErasureKeyProvider,
  KEYED_WITHDRAWALS_MARKER,
  listIdentifierDigests,
  listOtherForms,
  listWithdrawableDigests,
  toKeyedWithdrawalKey,
} from '../events/person-identifiers.ts'
import {
  findSuppressedDigests,
  findTrackersWithErasures,
  findTrackersWithWithdrawals,
  suppressDigest,
} from '../events/suppression-store.ts'
import {
  findPersonWithdrawals,
  listPersonKeys,
  listPlatformKeys,
  type Withdrawals,
} from '../events/withdrawal-store.ts'
import type { EventDraft } from './event-draft.ts'
import type { ErasureState, PlanInput } from './plan-event.ts'

/** What is known or assumed about the person of an event. */
type PersonState = Pick<PlanInput, 'withdrawals' | 'withdrawalKeys' | 'erasure'>
export type PersonStateLookup = (draft: EventDraft) => PersonState

/** Keyed digests cost microseconds per event, so they are computed for these trackers only. */
const KEYED_TRACKERS_MAX = 100_000

const NO_DIGESTS: ReadonlySet<string> = new Set()
const NO_KEYED_DIGESTS: ReadonlyMap<string, string> = new Map()

/**
 * Remembers which trackers have withdrawals, have them under keyed digests, or have erased a
 * person, for the optimistic insert. Of a tracker that is not remembered, the insert checks that it
 * has none at all, so the first event of one that has some conflicts. A tracker whose withdrawals
 * are all lifted stays remembered, which costs lookups only.
 */
export class PersonCheck {
  readonly #database: Database
  readonly #erasureKey: ErasureKeyProvider
  readonly #erasing = new Set<string>()
  readonly #withdrawing = new Set<string>()
  readonly #withdrawingByDigest = new Set<string>()
  #key: KeyObject | null = null

  constructor(database: Database, erasureKey: ErasureKeyProvider) {
    this.#database = database
    this.#erasureKey = erasureKey
  }

  /** Assumes the state of a draft without a query. */
  assumeState(draft: EventDraft): PersonState {
    const { trackerId } = draft
    const key = this.#key
    const isErasing = key !== null && this.#erasing.has(trackerId)
    const isByDigest = key !== null && this.#withdrawingByDigest.has(trackerId)
    const isWithdrawing = this.#withdrawing.has(trackerId)
    const needsDigests = isErasing || (isWithdrawing && isByDigest)
    const keyed = needsDigests ? computeKeyedDigests(key, draft) : NO_KEYED_DIGESTS
    const listKeys = () => listWithdrawalKeys(draft, isByDigest ? { key, keyed } : null)
    return {
      withdrawals: 'unchecked',
      withdrawalKeys: isWithdrawing ? listKeys() : 'all',
      erasure: isErasing ? { erased: NO_DIGESTS, keyed: [...keyed.values()] } : 'unchecked',
    }
  }

  /**
   * Looks up withdrawals and erasures for these drafts. The result covers these drafts only. Where
   * only the tracker as a whole was checked before, an event whose person has withdrawn nothing is
   * checked by the next insert again, by its keys: the person may withdraw until then.
   */
  async fetchStates(drafts: readonly EventDraft[]): Promise<PersonStateLookup> {
    const trackerIds = [...new Set(drafts.map(({ trackerId }) => trackerId))]
    const unknown = new Set(trackerIds.filter(trackerId => !this.#withdrawing.has(trackerId)))
    remember(this.#withdrawing, await findTrackersWithWithdrawals(this.#database, [...unknown]))
    const people = new Map(drafts.map(draft => [draft, toPerson(draft)]))
    const found = [...people.values()]
    const withdrawals = await findPersonWithdrawals(this.#database, found, this.#erasureKey)
    if (withdrawals.keyedTrackers.size > 0) {
      this.#key = await this.#erasureKey()
      remember(this.#withdrawingByDigest, withdrawals.keyedTrackers)
    }
    const erasureOf = await this.#fetchErasures(drafts)
    return draft => {
      const latest = withdrawals.latest(people.get(draft) ?? toPerson(draft))
      const isUnchecked = unknown.has(draft.trackerId) && hasNone(latest)
      const assumed = isUnchecked ? this.assumeState(draft) : { withdrawals: latest }
      return { ...assumed, erasure: erasureOf(draft) }
    }
  }

  async #fetchErasures(
    drafts: readonly EventDraft[],
  ): Promise<(draft: EventDraft) => ErasureState> {
    const erasing = await findTrackersWithErasures(this.#database, [
      ...new Set(drafts.map(({ trackerId }) => trackerId)),
    ])
    if (erasing.size === 0) return () => 'unchecked'
    const key = await this.#erasureKey()
    this.#key = key
    remember(this.#erasing, erasing)
    const affected = drafts.filter(({ trackerId }) => erasing.has(trackerId))
    const digestsByDraft = new Map(
      affected.map(draft => [draft, [...computeKeyedDigests(key, draft)]]),
    )
    const suppressed = await findSuppressedDigests(
      this.#database,
      [...digestsByDraft].flatMap(([{ trackerId }, digests]) =>
        digests.map(([, keyed]) => ({ trackerId, keyed })),
      ),
    )
    const states = new Map<EventDraft, ErasureState>()
    for (const [draft, digests] of digestsByDraft) {
      const isSuppressed = ([, keyed]: [string, string]) =>
        suppressed.has(`${draft.trackerId} ${keyed}`)
      const named = new Set(digests.filter(isSuppressed).map(([digest]) => digest))
      const others = named.size > 0 ? listOtherForms(draft, named) : []
      await this.#suppressOtherForms(key, draft, others)
      const erased = new Set([...named, ...others])
      states.set(draft, { erased, keyed: digests.map(([, keyed]) => keyed) })
    }
    return draft => states.get(draft) ?? 'unchecked'
  }

  /**
   * An event that was sent with an erased identifier itself shows which other digests the same
   * identifier has. Later events may have one of these alone.
   */
  async #suppressOtherForms(
    key: KeyObject,
    { trackerId, receivedAt }: EventDraft,
    digests: readonly string[],
  ): Promise<void> {
    for (const digest of digests) {
      const keyed = computeKeyedDigest(key, trackerId, digest)
      await suppressDigest(this.#database, { trackerId, keyed, at: receivedAt })
    }
  }
}

function hasNone({ bySecret, byPage, byPlatform }: Withdrawals): boolean {
  return bySecret === null && byPage === null && byPlatform === undefined
}

/** The keys under which a withdrawal may be stored that reaches the draft. */
function listWithdrawalKeys(
  draft: EventDraft,
  byDigest: { key: KeyObject; keyed: ReadonlyMap<string, string> } | null,
): string[] {
  const plainKeys = listPersonKeys(draft)
  const withdrawable = listWithdrawableDigests(draft)
  const freeText = listFreeTextDigests(draft)
  if (byDigest === null) {
    // A withdrawal under keyed digests cannot reach an event that names no one.
    const namesNoOne = withdrawable.length + plainKeys.length + freeText.length === 0
    return namesNoOne ? plainKeys : [...plainKeys, KEYED_WITHDRAWALS_MARKER]
  }
  const { key, keyed } = byDigest
  const toKeyedKey = (digest: string) => toKeyedWithdrawalKey(keyed.get(digest) as string)
  const keys = [...plainKeys, ...[...withdrawable, ...freeText].map(toKeyedKey)]
  // The mark tells of withdrawals for one platform too, so their keys cost nothing before it.
  return [...keys, ...listKeysOfPlatforms(key, draft, keys)]
}

/** The person of a draft, with the platforms that may get the event. */
function toPerson(draft: EventDraft) {
  return { ...draft, platformNames: [...draft.platformDecisions.keys()] }
}

function listKeysOfPlatforms(
  key: KeyObject,
  { trackerId, platformDecisions }: EventDraft,
  keys: readonly string[],
): string[] {
  return [...platformDecisions.keys()].flatMap(platform =>
    listPlatformKeys(key, { trackerId, platform }, keys),
  )
}

function remember(known: Set<string>, trackerIds: ReadonlySet<string>): void {
  if (known.size + trackerIds.size > KEYED_TRACKERS_MAX) known.clear()
  for (const trackerId of trackerIds) known.add(trackerId)
}

/** Maps each digest of the person to its keyed digest; those of free text are keyed already. */
function computeKeyedDigests(key: KeyObject, draft: EventDraft): Map<string, string> {
  const { trackerId } = draft
  const digests = listIdentifierDigests(draft)
  return new Map([
    ...digests.map(digest => [digest, computeKeyedDigest(key, trackerId, digest)] as const),
    ...listFreeTextDigests(draft).map(keyed => [keyed, keyed] as const),
  ])
}
