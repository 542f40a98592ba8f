import { type EventSubmission, LIFECYCLE_EVENT_NAMES } from '@signalbox/contract/submissions.ts'
import type { FieldErrorList } from '../../runtime/http/validator.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { splitWords } from '../consent/consent-words.ts'
import {
  IDENTIFYING_KEYS,
  listWithdrawableDigests,
  resolveVisitorId,
} from '../events/person-identifiers.ts'
import { MEMBERS_MAX } from '../identity/dropped-fields.ts'
import { computeLookupDigests } from '../identity/lookup-digests.ts'
import { findIdentityMember, findUserDataKey } from '../identity/user-data-keys.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'

/**
 * Adds the errors of a `consent_withdrawal`. It must name a person, because a withdrawal that
 * reaches no one would be accepted without any effect. On legitimate interest it may name them by
 * email address, phone number and external ID, which no other event on that basis may carry. A page
 * may name its visitor only.
 */
export function addWithdrawalErrors(
  errors: FieldErrorList,
  body: UntrustedObject,
  { platforms, isOfPage }: { platforms: SelectedPlatforms; isOfPage: boolean },
): void {
  addPlatformErrors(errors, body.withdrawn_platforms, platforms)
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
  if (visitorId !== null) return
  if (isOfPage) errors.add('visitor_id', PAGE_NAMES_NO_VISITOR, 'withdrawal_names_no_one')
  else addUnnamedPersonErrors(errors, userData, platforms)
}

function addPlatformErrors(
  errors: FieldErrorList,
  named: unknown,
  { names }: SelectedPlatforms,
): void {
  if (!Array.isArray(named)) return
  for (const [index, name] of named.entries()) {
    if (typeof name !== 'string' || names.has(name)) continue
    const field = `withdrawn_platforms.${index}`
    errors.add(
      field,
      `The ${field} field must be one of ${[...names].join(', ')}.`,
      'platform_unknown',
    )
  }
}

/** The key of a page is public, so identifiers that a page names may be those of anyone. */
const PAGE_NAMES_NO_VISITOR =
  'The visitor_id field must name the visitor who withdraws consent: with a publishable key, no ' +
  'other identifier counts. Placeholders name no one.'

/**
 * Leaves out the identifiers in the withdrawal of a page, which is for its visitor only. Returns
 * their paths.
 */
export function ignoreIdentifiers(submission: EventSubmission): {
  counted: EventSubmission
  ignored: string[]
} {
  const members = Object.entries(submission.user_data ?? {})
  const isIgnored = ([name]: [string, unknown]) =>
    IDENTIFYING_KEYS.some(key => key === findUserDataKey(name)?.key)
  const ignored = members.filter(isIgnored).slice(0, MEMBERS_MAX)
  const user_data = Object.fromEntries(members.filter(member => !isIgnored(member)))
  return {
    counted: { ...submission, user_data },
    ignored: ignored.map(([name]) => `user_data.${name}`),
  }
}

function addUnnamedPersonErrors(
  errors: FieldErrorList,
  userData: UntrustedObject,
  platforms: Pick<SelectedPlatforms, 'default'>,
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
