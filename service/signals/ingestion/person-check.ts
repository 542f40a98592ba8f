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
  suppressDigest,
} from '../events/suppression-store.ts'
import {
  findPersonWithdrawals,
  listPersonKeys,
  listPlatformKeys,
} from '../events/withdrawal-store.ts'
import type { EventDraft } from './event-draft.ts'
import type { ErasureState, PlanInput } from './plan-event.ts'

/** What is known or assumed about the person of an event. */
type PersonState = Pick<PlanInput, 'withdrawals' | 'withdrawalKeys' | 'erasure'>
export type PersonStateLookup = (draft: EventDraft) => PersonState

/** Keyed digests cost microseconds per event, so they are computed for these trackers only. */
const KEYED_TRACKERS_MAX = 100_000

const NO_DIGESTS: ReadonlySet<string> = new Set()

/**
 * Remembers which trackers have erased a person or have withdrawals under keyed digests, for the
 * optimistic insert. What is remembered never becomes wrong, because both are permanent. A tracker
 * that is not remembered yet is found when its first event conflicts.
 */
export class PersonCheck {
  readonly #database: Database
  readonly #erasureKey: ErasureKeyProvider
  readonly #erasing = new Set<string>()
  readonly #withdrawing = new Set<string>()
  #key: KeyObject | null = null

  constructor(database: Database, erasureKey: ErasureKeyProvider) {
    this.#database = database
    this.#erasureKey = erasureKey
  }

  /** Assumes the state of a draft without a query. */
  assumeState(draft: EventDraft): PersonState {
    const { trackerId } = draft
    const isErasing = this.#erasing.has(trackerId)
    const isWithdrawing = this.#withdrawing.has(trackerId)
    const plainKeys = listPersonKeys(draft)
    const withdrawable = listWithdrawableDigests(draft)
    const freeText = listFreeTextDigests(draft)
    // A withdrawal under keyed digests cannot reach an event that names no one.
    const namesNoOne = withdrawable.length + plainKeys.length + freeText.length === 0
    const marker = namesNoOne ? [] : [KEYED_WITHDRAWALS_MARKER]
    if (this.#key === null || !(isErasing || isWithdrawing)) {
      const withdrawalKeys = [...plainKeys, ...marker]
      return { withdrawals: 'unchecked', withdrawalKeys, erasure: 'unchecked' }
    }
    const keyed = computeKeyedDigests(this.#key, draft)
    const toKeyedKey = (digest: string) => toKeyedWithdrawalKey(keyed.get(digest) as string)
    const keyedKeys = isWithdrawing ? [...withdrawable, ...freeText].map(toKeyedKey) : marker
    const keys = [...plainKeys, ...keyedKeys]
    // The mark tells of withdrawals for one platform too, so their keys cost nothing before it.
    const platformKeys = isWithdrawing ? listKeysOfPlatforms(this.#key, draft, keys) : []
    return {
      withdrawals: 'unchecked',
      withdrawalKeys: [...keys, ...platformKeys],
      erasure: isErasing ? { erased: NO_DIGESTS, keyed: [...keyed.values()] } : 'unchecked',
    }
  }

  /** Looks up withdrawals and erasures for these drafts. The result covers these drafts only. */
  async fetchStates(drafts: readonly EventDraft[]): Promise<PersonStateLookup> {
    const people = new Map(drafts.map(draft => [draft, toPerson(draft)]))
    const found = [...people.values()]
    const withdrawals = await findPersonWithdrawals(this.#database, found, this.#erasureKey)
    if (withdrawals.keyedTrackers.size > 0) {
      this.#key = await this.#erasureKey()
      remember(this.#withdrawing, withdrawals.keyedTrackers)
    }
    const erasureOf = await this.#fetchErasures(drafts)
    return draft => {
      const person = people.get(draft) ?? toPerson(draft)
      return { withdrawals: withdrawals.latest(person), erasure: erasureOf(draft) }
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
