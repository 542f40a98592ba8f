import type { RefusalRule } from '@signalbox/contract/refusal-rules.ts'
import {
  EventSubmission,
  LIFECYCLE_EVENT_NAMES,
  UNIX_SECONDS_MAX,
} from '@signalbox/contract/submissions.ts'
import { addTextError, type FieldErrorList, Validator } from '../../runtime/http/validator.ts'
import { generateUuidV7 } from '../../runtime/util/ids.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import type { BrowserCaller } from '../access/authenticate-publishable-key.ts'
import type { ConsentInputs } from '../consent/consent-decision.ts'
import type { CategoryMeanings } from '../consent/consent-names.ts'
import type { AcceptedDecision } from '../consent/consent-record.ts'
import type { ConsentContext, ConsentSettings } from '../consent/consent-signal.ts'
import { decideForPlatforms, type PlatformDecisions } from '../consent/platform-decisions.ts'
import { findIdentityMember, findUserDataKey } from '../identity/user-data-keys.ts'
import type { SelectedPlatforms } from '../platforms/registry.ts'
import { resolveEventId } from './idempotency.ts'
import { containsIdentifier } from './redact-submission.ts'
import { addContextErrors, addValueDataErrors } from './submission-rules.ts'
import { addReservedNameErrors, addWithdrawalErrors } from './validate-withdrawal.ts'

interface SubmissionInput {
  platforms: SelectedPlatforms
  idempotencyKey: string | undefined
  receivedAt: Date
  /** Set when the request used a publishable key. */
  browser?: BrowserCaller | null
  settings?: ConsentSettings
  /** What the tracker's own consent categories mean. */
  categories?: CategoryMeanings | null
}

interface ValidatedSubmission {
  submission: EventSubmission
  /** From the caller, or generated. */
  eventId: string
  eventTime: Date
  decision: AcceptedDecision
  platformDecisions: PlatformDecisions
  refusedVendors: ReadonlySet<string>
}

const submissionValidator = new Validator(EventSubmission, { omits: isTimeBound })

/**
 * Validates a submission: schema, cross-field rules, event ID, event time, and consent. Throws a
 * 422 refusal naming every invalid field. Uses no store, so that the sandbox can share it.
 */
export function validateSubmission(body: unknown, input: SubmissionInput): ValidatedSubmission {
  const { platforms, idempotencyKey, receivedAt } = input
  const { browser = null, settings = {}, categories = null } = input
  const validation = submissionValidator.begin(body)
  const { errors, input: given } = validation
  addCrossFieldErrors(errors, given)
  addContextErrors(errors, given, browser)
  addReservedNameErrors(errors, given)
  if (given.event_name === 'consent_withdrawal') {
    addWithdrawalErrors(errors, given, { platforms, isOfPage: browser !== null })
  }
  if (browser) addEdgeFieldErrors(errors, given.user_data)
  const givenEventId = readEventId(errors, given, idempotencyKey)
  const eventTime = readSubmittedTime(errors, given, receivedAt)
  const identityPresent = Boolean(browser?.edge) || findIdentityMember(given.user_data) !== null
  const consent = decideSubmissionConsent(errors, given, {
    platforms,
    receivedAt,
    eventTime,
    identityPresent,
    hasGpcHeader: browser?.hasGpcHeader ?? false,
    settings,
    categories,
  })
  const submission = validation.finish()
  // An invalid basis is the only reason for no decision, and an error.
  if (consent === null) throw errors.toRefusal()
  return {
    submission,
    eventId: givenEventId ?? `evt_${generateUuidV7(receivedAt)}`,
    eventTime,
    ...consent,
  }
}

/** `parseEventTime` says what to send instead of a number out of bounds. */
function isTimeBound({ instancePath, keyword }: { instancePath: string; keyword: string }) {
  return instancePath === '/event_time' && (keyword === 'minimum' || keyword === 'maximum')
}

function readEventId(
  errors: FieldErrorList,
  { event_id }: UntrustedObject,
  idempotencyKey: string | undefined,
): string | null {
  const submittedId = typeof event_id === 'string' ? event_id : undefined
  const resolution = resolveEventId(submittedId, idempotencyKey)
  if ('eventId' in resolution) return resolution.eventId
  errors.add(resolution.error.field, resolution.error.message, resolution.error.rule)
  return null
}

function readSubmittedTime(
  errors: FieldErrorList,
  { event_time }: UntrustedObject,
  receivedAt: Date,
): Date {
  const isValidType = typeof event_time === 'string' || isInteger(event_time)
  const time = parseEventTime(isValidType ? event_time : undefined, receivedAt)
  if ('at' in time) return time.at
  errors.add('event_time', time.error, time.rule)
  return receivedAt
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value)
}

/** Null for a denial, and for an invalid basis, which the schema reports. */
function decideSubmissionConsent(
  errors: FieldErrorList,
  body: UntrustedObject,
  { platforms, ...context }: ConsentContext & { platforms: SelectedPlatforms },
): Pick<ValidatedSubmission, 'decision' | 'platformDecisions' | 'refusedVendors'> | null {
  if (!hasConsentBasis(body)) return null
  const fallback = platforms.default.consentNeeds
  const decided = decideForPlatforms(body, platforms.all, { ...context, fallback })
  const { decision, platforms: platformDecisions, refusedVendors } = decided
  if (decision.outcome !== 'denied') return { decision, platformDecisions, refusedVendors }
  const field = decision.denied_field
  errors.add(
    field,
    `The ${field} field denies: use consent only with granted downstream advertising state.`,
    'consent_denied',
  )
  return null
}

function hasConsentBasis(body: UntrustedObject): body is UntrustedObject & ConsentInputs {
  return body.consent_basis === 'consent' || body.consent_basis === 'legitimate_interest'
}

const TEXT_MEMBERS = [
  'event_id',
  'event_name',
  'parent_event_id',
  'event_source',
  'action_source',
  'visitor_id',
]

/**
 * Adds the errors that a schema cannot express: cross-field rules and limits in bytes. Each rule
 * checks only members of the right type, so that it runs on any body and one response names every
 * invalid field.
 */
function addCrossFieldErrors(errors: FieldErrorList, body: UntrustedObject): void {
  for (const name of TEXT_MEMBERS) {
    const text = body[name]
    // `resolveEventId` says what is wrong with an event ID of several lines. A visitor ID counts
    // without the white space around it.
    const isOneLine = name !== 'event_id'
    const read = name === 'visitor_id' && typeof text === 'string' ? text.trim() : text
    addTextError(errors, name, read, { isOneLine })
  }
  for (const name of ['event_id', 'event_name']) {
    const text = body[name]
    if (typeof text === 'string' && text !== '' && text.trim() === '') {
      errors.add(name, `The ${name} field must not be empty.`, 'empty')
    }
  }
  for (const name of ID_MEMBERS) addIdentifierError(errors, name, body[name])
  addValueDataErrors(errors, body)
  if (body.consent_basis === 'legitimate_interest') addLegitimateInterestErrors(errors, body)
}

/** `resolveEventId` checks the event ID, which may also come from a header. */
const ID_MEMBERS = ['event_name', 'parent_event_id']

/** A token in place of the identifier would change which event or which kind of event it is. */
function addIdentifierError(errors: FieldErrorList, field: string, text: unknown): void {
  if (typeof text !== 'string' || !containsIdentifier(text)) return
  const sentence = `The ${field} field must hold no email address or phone number.`
  errors.add(field, sentence, 'identifier_not_allowed')
}

/** An event on legitimate interest may carry neither revenue nor identity. */
function addLegitimateInterestErrors(errors: FieldErrorList, body: UntrustedObject): void {
  const value = isObject(body.value_data) ? body.value_data : {}
  const names = LIFECYCLE_EVENT_NAMES.join(' and ')
  if (value.value !== undefined) {
    errors.add(
      'value_data',
      'The value_data field must carry no value on legitimate interest: send revenue with consent.',
      'revenue_without_consent',
    )
  }
  const isWithdrawal = body.event_name === 'consent_withdrawal'
  if (!isWithdrawal && findIdentityMember(body.user_data) !== null) {
    errors.add(
      'user_data',
      'The user_data field must carry no identity on legitimate interest, which covers only ' +
        `${names}.`,
      'identity_without_consent',
    )
  }
}

const EDGE_ONLY_KEYS = ['client_ip_address', 'client_user_agent']

/**
 * Rejects the address and the user agent in a body sent with a publishable key, in every spelling:
 * a page could claim any value. Null is ignored.
 */
function addEdgeFieldErrors(errors: FieldErrorList, userData: unknown): void {
  if (!isObject(userData)) return
  for (const [name, value] of Object.entries(userData)) {
    if (value === null) continue
    const known = findUserDataKey(name)
    if (known === null || !EDGE_ONLY_KEYS.includes(known.key)) continue
    const field = `user_data.${name}`
    errors.add(
      field,
      `The ${field} field is not taken with a publishable key: the address and the user agent of ` +
        'the browser come from the trusted edge alone.',
      'address_from_page',
    )
  }
}

const DAY = String.raw`(\d{4})-(\d{2})-(\d{2})`
const TIME = String.raw`\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?`
const OFFSET = String.raw`(?:Z|[+-]\d{2}:?\d{2})`
const ISO_8601 = new RegExp(`^${DAY}T${TIME}${OFFSET}$`)

const FUTURE_SECONDS_MAX = 300
type ParsedEventTime = { at: Date } | { error: string; rule: RefusalRule }

/**
 * Parses `event_time`: Unix seconds or ISO 8601 with an offset. Defaults to the time of receipt.
 * Tolerates clocks that run up to five minutes fast.
 */
export function parseEventTime(
  value: number | string | undefined,
  receivedAt: Date,
): ParsedEventTime {
  if (value === undefined) return { at: receivedAt }
  const time = typeof value === 'number' ? parseUnixSeconds(value) : parseIso8601(value)
  if ('error' in time) return time
  if (time.at.getTime() > receivedAt.getTime() + FUTURE_SECONDS_MAX * 1_000) {
    return {
      error: 'The event_time field must not be more than 5 minutes in the future.',
      rule: 'event_time_in_future',
    }
  }
  return time
}

const BEFORE_1970 = {
  error: 'The event_time field must not be before 1970.',
  rule: 'event_time_before_1970',
} as const

function parseUnixSeconds(seconds: number): ParsedEventTime {
  if (seconds > UNIX_SECONDS_MAX) {
    return {
      error: 'The event_time field looks like milliseconds; send Unix seconds.',
      rule: 'event_time_in_milliseconds',
    }
  }
  if (seconds < 0) return BEFORE_1970
  return { at: new Date(seconds * 1_000) }
}

function parseIso8601(text: string): ParsedEventTime {
  const match = ISO_8601.exec(text)
  const at = match ? new Date(normalizeIso8601(text)) : null
  if (!match || !at || Number.isNaN(at.getTime()) || !isCalendarDay(match)) {
    return {
      error:
        'The event_time field must be Unix seconds or ISO 8601 with an offset, ' +
        'such as 2026-11-21T10:00:00Z.',
      rule: 'event_time_format',
    }
  }
  if (at.getUTCFullYear() < 1970) {
    return BEFORE_1970
  }
  return { at }
}

/** Converts the offset and the fraction to the one form that Date parses. */
function normalizeIso8601(text: string): string {
  return text.replace(',', '.').replace(/([+-]\d{2})(\d{2})$/, '$1:$2')
}

/** Rejects days such as 30 February, which Date would turn into 1 or 2 March. */
function isCalendarDay([, year, month, day]: RegExpExecArray): boolean {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}
