import { LIFECYCLE_EVENT_NAMES } from '@signalbox/contract/submissions.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { FieldErrorList } from '../../runtime/http/validator.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { splitWords } from '../consent/consent-words.ts'
import { skipWaitingOfPerson } from '../delivery/skip-store.ts'
import { findPayloadsByDigest, findPayloadsByVisitor } from '../events/erase-store.ts'
import {
  countIdentifiers,
  type ErasureKeyProvider,
  IDENTIFYING_KEYS,
  KEYED_WITHDRAWALS_MARKER,
  listKeyedWithdrawalKeys,
  listOtherForms,
  listWithdrawableDigests,
  listWithdrawableGroups,
  type PersonIdentifiers,
  resolveVisitorId,
} from '../events/person-identifiers.ts'
import { waitForPayloadWriters } from '../events/suppression-store.ts'
import { addWithdrawalKeys, findPersonWithdrawals } from '../events/withdrawal-store.ts'
import { computeLookupDigests } from '../identity/lookup-digests.ts'
import { findIdentityMember, findUserDataKey } from '../identity/user-data-keys.ts'
import type { Platforms } from './event-draft.ts'

export interface WithdrawalContext {
  database: Database
  erasureKey: ErasureKeyProvider
}

/** The person who withdraws consent, as the event names them. */
interface WithdrawingPerson extends PersonIdentifiers {
  trackerId: string
}

/** The identifiers that a withdrawal reaches besides the visitor ID. */
interface WithdrawalReach {
  /** Digests of email addresses, phone numbers and external IDs. */
  digests: string[]
  /** How many identifiers these are digests of. */
  identifiers: number
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
export async function findWithdrawalReach(
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
  if (digests.length === 0) return { digests, identifiers, keyedKeys: [] }
  const keyed = listKeyedWithdrawalKeys(await erasureKey(), trackerId, digests)
  return { digests, identifiers, keyedKeys: [KEYED_WITHDRAWALS_MARKER, ...keyed] }
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
    const search = { trackerId, digest, limit: FORM_EVENTS_MAX, after: null }
    const found = await findPayloadsByDigest(database, search)
    const others = new Set(found.flatMap(one => listOtherForms(one, new Set([digest]))))
    if (others.size > 0) groups.push([digest, ...others])
    for (const other of others) known.add(other)
  }
  return groups
}

const WAIT_SECONDS_MAX = 10

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
export async function completeWithdrawal(
  context: WithdrawalContext,
  { person, withdrawnAt, storedKeys }: StoredWithdrawal,
): Promise<void> {
  const { database } = context
  const { trackerId, visitorId } = person
  if (visitorId !== null && !(await waitForPayloadWriters(database, WAIT_SECONDS_MAX, 'skip'))) {
    throw Refusal.unavailable(
      'Events are being stored too slowly to complete the withdrawal; try again.',
      1,
    )
  }
  const { digests, keyedKeys } = await findWithdrawalReach(context, person)
  const stored = new Set(storedKeys)
  const added = keyedKeys.filter(key => !stored.has(key))
  await addWithdrawalKeys(
    database,
    added.map(key => ({ trackerId, visitorId: key, createdAt: withdrawnAt })),
  )
  await skipWaitingOfPerson(database, { trackerId, visitorId, digests, at: withdrawnAt })
}

/**
 * Completes the withdrawal of a repeated event, whose first request may have been interrupted
 * between its commit and its answer. The body of a repeated event may differ from the first one and
 * counts for nothing, so only a withdrawal of the visitor that is stored is completed.
 */
export async function completeRepeatedWithdrawal(
  context: WithdrawalContext,
  { trackerId, visitorId }: WithdrawingPerson,
): Promise<void> {
  const { database, erasureKey } = context
  const person = { trackerId, visitorId, digests: {} }
  const { latest } = await findPersonWithdrawals(database, [person], erasureKey)
  const withdrawnAt = latest(person)
  if (visitorId === null || withdrawnAt === null) return
  await completeWithdrawal(context, { person, withdrawnAt, storedKeys: [] })
}

/**
 * Adds the errors of a `consent_withdrawal`. It must name a person, because a withdrawal that
 * reaches no one would be accepted without any effect. On legitimate interest it may name them by
 * email address, phone number and external ID, which no other event on that basis may carry.
 */
export function addWithdrawalErrors(
  errors: FieldErrorList,
  body: UntrustedObject,
  platforms: Pick<Platforms, 'default'>,
): void {
  const userData = isObject(body.user_data) ? body.user_data : {}
  const isOnInterest = body.consent_basis === 'legitimate_interest'
  if (isOnInterest && findIdentityMember(userData, IDENTIFYING_KEYS) !== null) {
    errors.add(
      'user_data',
      'The user_data field of a consent_withdrawal on legitimate interest may carry only em, ph ' +
        'and external_id.',
      'identity_without_consent',
    )
  }
  const visitorId = typeof body.visitor_id === 'string' ? resolveVisitorId(body.visitor_id) : null
  if (visitorId === null) addUnnamedPersonErrors(errors, userData, platforms)
}

function addUnnamedPersonErrors(
  errors: FieldErrorList,
  userData: UntrustedObject,
  platforms: Pick<Platforms, 'default'>,
): void {
  const times = { observedAt: new Date(0), eventTime: new Date(0) }
  const lookup = computeLookupDigests(userData, times)
  if (listWithdrawableDigests({ visitorId: null, digests: {}, lookup }).length > 0) return
  const submitted = { userData, clickIds: {}, eventSource: undefined, ...times }
  const { dropped } = platforms.default.normalizeIdentity(submitted)
  errors.add(
    'visitor_id',
    'The visitor_id field must name the visitor who withdraws consent, unless user_data.em, ' +
      'user_data.ph or user_data.external_id does. Placeholders name no one.',
    'withdrawal_names_no_one',
  )
  for (const { field, reason } of dropped) {
    if (!isWithdrawalField(field)) continue
    errors.add(field, `The ${field} field names no one. ${reason}`, 'withdrawal_names_no_one')
  }
}

/** Whether a path such as `user_data.em[1]` is of a member by which a withdrawal names a person. */
function isWithdrawalField(field: string): boolean {
  const name = /^user_data\.(\w+)/.exec(field)?.[1]
  const known = name === undefined ? null : findUserDataKey(name)
  return IDENTIFYING_KEYS.some(key => key === known?.key)
}

type ReservedName = (typeof LIFECYCLE_EVENT_NAMES)[number]

/**
 * Adds an error for a reserved event name that is misspelled, or used for a conversion. Delivering
 * `ConsentWithdrawal` would send a person who withdraws to the platform. On legitimate interest the
 * schema refuses every other spelling.
 */
export function addReservedNameErrors(errors: FieldErrorList, body: Record<string, unknown>): void {
  const { event_name: name, consent_basis } = body
  if (consent_basis !== 'consent' || typeof name !== 'string') return
  if (name === 'consent_withdrawal') return
  const reserved = findReservedName(name)
  if (reserved === null) return
  const sentence =
    reserved === 'signal_verification'
      ? 'The event_name field is reserved: send signal_verification on legitimate interest, or a ' +
        'conversion under another name.'
      : 'The event_name field is reserved: a withdrawal must be spelled consent_withdrawal.'
  errors.add('event_name', sentence, 'reserved_event_name')
}

/** Most names have none of these, and need no closer look. */
const MAY_BE_RESERVED = /con.{0,3}s.{0,3}n|withd|revo|signal|verif/i
const NAME_LENGTH_MAX = 40
const TYPOS_MAX = 2

const RESERVED_WORDS: readonly [ReservedName, RegExp, RegExp][] = [
  ['consent_withdrawal', /^consents?$/, /^withdr|^revo[ck]/],
  ['signal_verification', /^signals?$/, /^verif/],
]

/** Words beside those of a reserved name that do not change what it means. */
const FILLER = /^(of|the|my|user|customer|event|events|request|requested|signal)$/

/** The reserved name that a name means: other case, separators or order, or up to two typos. */
function findReservedName(name: string): ReservedName | null {
  if (name.length > NAME_LENGTH_MAX || !MAY_BE_RESERVED.test(name)) return null
  const words = splitWords(name.normalize('NFKC').replace(/\p{Cf}/gu, ''))
  const byWords = RESERVED_WORDS.find(
    ([, ...patterns]) =>
      patterns.every(pattern => words.some(word => pattern.test(word))) &&
      words.every(word => FILLER.test(word) || patterns.some(pattern => pattern.test(word))),
  )
  if (byWords) return byWords[0]
  const folded = words.join('')
  return (
    LIFECYCLE_EVENT_NAMES.find(reserved => {
      const target = reserved.split('_')
      // `signup_verification` has two edits in one word, which makes it another word.
      const isSameWords = words.length !== 2 || words.every((word, at) => isTypo(word, target[at]))
      return isSameWords && countEdits(folded, target.join('')) <= TYPOS_MAX
    }) ?? null
  )
}

/** One edit, or letters in another order. */
function isTypo(word: string, target = ''): boolean {
  return countEdits(word, target) <= 1 || [...word].sort().join() === [...target].sort().join()
}

/** Levenshtein distance; more than `TYPOS_MAX` for texts whose lengths differ by more. */
function countEdits(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > TYPOS_MAX) return TYPOS_MAX + 1
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at]
    for (let to = 1; to <= other.length; to += 1) {
      const change = one.charAt(at - 1) === other.charAt(to - 1) ? 0 : 1
      const replaced = (row[to - 1] as number) + change
      next.push(Math.min(replaced, (row[to] as number) + 1, (next[to - 1] as number) + 1))
    }
    row = next
  }
  return row.at(-1) as number
}
