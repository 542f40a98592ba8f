import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { skipWaitingOfPerson } from '../delivery/skip-store.ts'
import { findPayloadsByDigest, findPayloadsByVisitor } from '../events/payload-search-store.ts'
import {
  computeKeyedDigest,
  countIdentifiers,
  type ErasureKeyProvider,
  KEYED_WITHDRAWALS_MARKER,
  listOtherForms,
  listPlainWithdrawalKeys,
  listWithdrawableGroups,
  type PersonIdentifiers,
  toKeyedWithdrawalKey,
} from '../events/person-identifiers.ts'
import { removeSessionClickIds } from '../events/session-store.ts'
import { waitForPayloadWriters } from '../events/suppression-store.ts'
import {
  addWithdrawalKeys,
  findPersonWithdrawals,
  listPlatformKeys,
} from '../events/withdrawal-store.ts'
import { listClickIdNames } from '../identity/click-ids.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import type { EventDraft } from './event-draft.ts'

export interface WithdrawalContext {
  database: Database
  erasureKey: ErasureKeyProvider
  platforms: Pick<PlatformRegistry, 'find'>
}

/** The person who withdraws consent, as the event names them. */
interface WithdrawingPerson extends PersonIdentifiers {
  trackerId: string
  /** The platforms that are refused from now on; empty: every one. */
  withdrawnPlatforms: readonly string[]
}

/** Adds to the draft of a withdrawal its keys, and tells in the trace how far it reaches. */
export async function prepareSecretWithdrawal(
  context: WithdrawalContext,
  draft: EventDraft,
): Promise<EventDraft> {
  const { identifiers, keyedKeys } = await findWithdrawalReach(context, draft)
  const keys = [...listPlainWithdrawalKeys(draft), ...keyedKeys]
  const withdrawnKeys = await toStoredKeys(context, draft, keys)
  const { withdrawnPlatforms: platforms } = draft
  const reach = { visitor: draft.visitorId !== null, identifiers }
  const told = platforms.length > 0 ? { ...reach, platforms } : reach
  return { ...tellReach(draft, told), withdrawnKeys }
}

/** The same keys, or those of the platforms that the withdrawal names. */
async function toStoredKeys(
  { erasureKey }: WithdrawalContext,
  { trackerId, withdrawnPlatforms }: Pick<WithdrawingPerson, 'trackerId' | 'withdrawnPlatforms'>,
  keys: readonly string[],
): Promise<string[]> {
  const own = keys.filter(key => key !== KEYED_WITHDRAWALS_MARKER)
  if (withdrawnPlatforms.length === 0 || own.length === 0) return [...keys]
  const key = await erasureKey()
  const named = withdrawnPlatforms.flatMap(platform =>
    listPlatformKeys(key, { trackerId, platform }, own),
  )
  return [KEYED_WITHDRAWALS_MARKER, ...named]
}

/** Puts how far a withdrawal reaches into the stored decision. */
export function tellReach(draft: EventDraft, withdrawal: Record<string, unknown>): EventDraft {
  const decision = { ...(draft.consent.decision as object), withdrawal }
  return { ...draft, consent: { ...draft.consent, decision } }
}

/** Completes a withdrawal once its event is committed, or was before. */
export async function finishSecretWithdrawal(
  context: WithdrawalContext,
  draft: EventDraft,
  isNew: boolean,
): Promise<void> {
  if (!isNew) return completeRepeatedWithdrawal(context, draft)
  const { receivedAt: withdrawnAt, withdrawnKeys: storedKeys } = draft
  return completeWithdrawal(context, { person: draft, withdrawnAt, storedKeys })
}

/** The identifiers that a withdrawal reaches besides the visitor ID. */
interface WithdrawalReach {
  /** Digests of email addresses, phone numbers and external IDs. */
  digests: string[]
  /** How many identifiers these are digests of. */
  identifiers: number
  /** The same digests, keyed, which events that name the person in free text have. */
  freeTextDigests: string[]
  /** The keys under which the withdrawal is stored for them. */
  keyedKeys: string[]
}

/** A hundred events a day over the retention of payloads. */
const VISITOR_EVENTS_MAX = 10_000
/** Events that are read for other forms of one digest. */
const FORM_EVENTS_MAX = 1_000
/** A person has a handful; a visitor ID with more is a cash register or a constant. */
const GROUPS_MAX = 1_000
/** A withdrawal by a digest alone names one identifier, of which a few forms exist. */
const FORM_SEARCHES_MAX = 20

/**
 * Finds the identifiers that a withdrawal reaches: those that it names, in every form that stored
 * events know, and those that events of the visitor carried, because later events may name the
 * person by these alone. They become keyed digests, which remain when payloads expire or the person
 * is erased.
 */
async function findWithdrawalReach(
  { database, erasureKey }: WithdrawalContext,
  person: WithdrawingPerson,
): Promise<WithdrawalReach> {
  const { trackerId, visitorId } = person
  const named = listWithdrawableGroups(person)
  const groups = new Map(named.map(group => [group.join(), group]))
  for (const group of await findOtherForms(database, trackerId, named.flat())) {
    groups.set(group.join(), group)
  }
  if (visitorId !== null) {
    const search = { trackerId, visitorId, limit: VISITOR_EVENTS_MAX }
    for (const { digests, lookup } of await findPayloadsByVisitor(database, search)) {
      const carried = listWithdrawableGroups({ visitorId: null, digests, lookup })
      for (const group of carried) groups.set(group.join(), group)
    }
  }
  const kept = [...groups.values()].slice(0, GROUPS_MAX)
  const digests = [...new Set(kept.flat())]
  const identifiers = countIdentifiers(kept)
  if (digests.length === 0) return { digests, identifiers, freeTextDigests: [], keyedKeys: [] }
  const key = await erasureKey()
  const freeTextDigests = digests.map(digest => computeKeyedDigest(key, trackerId, digest))
  const keyedKeys = [KEYED_WITHDRAWALS_MARKER, ...freeTextDigests.map(toKeyedWithdrawalKey)]
  return { digests, identifiers, freeTextDigests, keyedKeys }
}

/** Groups of other forms that stored events know of these identifiers, each with the known one. */
async function findOtherForms(
  database: Database,
  trackerId: string,
  digests: readonly string[],
): Promise<string[][]> {
  const groups: string[][] = []
  const known = new Set(digests)
  let searches = 0
  // A set in iteration visits what is added to it.
  for (const digest of known) {
    searches += 1
    if (searches > FORM_SEARCHES_MAX) break
    const search = { trackerId, digest, limit: FORM_EVENTS_MAX }
    const found = await findPayloadsByDigest(database, search)
    const others = new Set(found.flatMap(one => listOtherForms(one, new Set([digest]))))
    if (others.size > 0) groups.push([digest, ...others])
    for (const other of others) known.add(other)
  }
  return groups
}

/** Less than the caller waits for its answer, which then says what was slow. */
const WAIT_SECONDS_MAX = 4

interface StoredWithdrawal {
  person: WithdrawingPerson
  withdrawnAt: Date
  /** The keys under which it is already stored. */
  storedKeys: readonly string[]
}

/**
 * Completes a withdrawal after its commit. Statements that began before the commit may have stored
 * events of the visitor with further identifiers, so it waits for them and looks again. Then it
 * skips what waits for delivery. Safe to repeat. Throws a 503 refusal when the wait takes too long:
 * a caller who repeats the event completes the withdrawal.
 */
async function completeWithdrawal(
  context: WithdrawalContext,
  { person, withdrawnAt, storedKeys }: StoredWithdrawal,
): Promise<void> {
  const { database } = context
  const { trackerId, visitorId } = person
  if (visitorId !== null) await waitForWriters(database)
  const reach = await findWithdrawalReach(context, person)
  const { digests, freeTextDigests, keyedKeys } = reach
  const stored = new Set(storedKeys)
  const found = await toStoredKeys(context, person, keyedKeys)
  const added = found.filter(key => !stored.has(key))
  await addWithdrawalKeys(
    database,
    added.map(key => ({ trackerId, visitorId: key, createdAt: withdrawnAt })),
  )
  await skipWaitingOfPerson(database, {
    trackerId,
    visitorId,
    digests,
    freeTextDigests,
    at: withdrawnAt,
    reason: 'consent_withdrawn',
    isOfPagesOnly: false,
    platforms: person.withdrawnPlatforms,
  })
  if (visitorId === null) return
  const names = listWithdrawnClickIds(context, person.withdrawnPlatforms)
  await removeSessionClickIds(database, { trackerId, visitorId, names, seenUntil: withdrawnAt })
}

/**
 * What the platforms left at the visitor, so that no later event is joined to a click from before
 * the withdrawal, not even after a new consent.
 */
function listWithdrawnClickIds(
  { platforms }: WithdrawalContext,
  named: readonly string[],
): string[] {
  if (named.length === 0) return listClickIdNames()
  const vendors = named.flatMap(name => platforms.find(name)?.consentNeeds.vendor ?? [])
  return listClickIdNames(new Set(vendors))
}

/** Waits for events that are being stored. Throws a 503 refusal when that takes too long. */
export async function waitForWriters(database: Database): Promise<void> {
  if (await waitForPayloadWriters(database, WAIT_SECONDS_MAX, 'skip')) return
  throw Refusal.unavailable(
    'Events are being stored too slowly to complete the withdrawal; try again.',
    1,
  )
}

/**
 * Completes the withdrawal of a repeated event, whose first request may have been interrupted
 * between its commit and its answer. The body of a repeated event may differ from the first one and
 * counts for nothing, so only a withdrawal of the visitor that is stored is completed.
 */
async function completeRepeatedWithdrawal(
  context: WithdrawalContext,
  { trackerId, visitorId, withdrawnPlatforms }: WithdrawingPerson,
): Promise<void> {
  const { database, erasureKey } = context
  const platformNames = withdrawnPlatforms
  const person = { trackerId, visitorId, digests: {}, space: 'secret', platformNames } as const
  const { latest } = await findPersonWithdrawals(database, [person], erasureKey)
  const { bySecret, byPlatform } = latest(person)
  if (visitorId === null) return
  for (const platform of withdrawnPlatforms) {
    const withdrawnAt = byPlatform?.get(platform)?.bySecret
    if (!withdrawnAt) continue
    const own = { ...person, withdrawnPlatforms: [platform] }
    await completeWithdrawal(context, { person: own, withdrawnAt, storedKeys: [] })
  }
  if (withdrawnPlatforms.length > 0 || bySecret === null) return
  const whole = { ...person, withdrawnPlatforms }
  await completeWithdrawal(context, { person: whole, withdrawnAt: bySecret, storedKeys: [] })
}
