import {
  CONTENTS_BYTES_MAX,
  EventSubmission,
  LIFECYCLE_EVENT_NAMES,
} from '@signalbox/contract/submissions.ts'
import type { BrowserCaller } from '../access/authenticate-browser.ts'
import { type ConsentDecision, decideConsent } from '../consent/consent-decision.ts'
import { compileBodySchema } from '../http/body-schema.ts'
import { addSchemaErrors, addTextError, FieldErrorList } from '../http/field-errors.ts'
import { Refusal } from '../http/refusal.ts'
import { findIdentityMember, findUserDataKey } from '../identity/user-data-keys.ts'
import { generateUuidV7 } from '../util/uuid.ts'
import { parseEventTime } from './event-time.ts'
import { resolveEventId } from './idempotency-key.ts'

interface SubmissionInput {
  idempotencyKey: string | undefined
  receivedAt: Date
  /** Set when a publishable key brought it. */
  browser?: BrowserCaller | null
}

interface ValidatedSubmission {
  submission: EventSubmission
  /** The caller's, or a new one. */
  eventId: string
  eventTime: Date
  decision: ConsentDecision
}

const findSchemaErrors = compileBodySchema(EventSubmission)

/**
 * Everything that is asked of a submission before anything is kept: its schema, the rules that join
 * members, its id, its time and its consent. Throws a 422 refusal with every wrong field. It knows
 * no store, so that the sandbox asks the very same.
 */
export function validateSubmission(
  body: unknown,
  { idempotencyKey, receivedAt, browser = null }: SubmissionInput,
): ValidatedSubmission {
  const submission = (body ?? {}) as EventSubmission
  const faults = new FieldErrorList()
  addSchemaErrors(faults, findSchemaErrors(submission) ?? [])
  if (typeof submission !== 'object' || Array.isArray(submission)) {
    throw Refusal.ofFields(faults.toErrors())
  }
  addCrossFieldErrors(faults, submission)
  if (browser) addEdgeFieldErrors(faults, submission.user_data)
  const identity = readEventId(faults, submission, idempotencyKey)
  const eventTime = readSubmittedTime(faults, submission, receivedAt)
  const identityPresent =
    Boolean(browser?.edge) || findIdentityMember(submission.user_data) !== null
  const decision = decideSubmissionConsent(faults, submission, {
    receivedAt,
    eventTime,
    identityPresent,
  })
  if (!faults.isEmpty || decision === null) throw Refusal.ofFields(faults.toErrors())
  return {
    submission,
    eventId: identity ?? `evt_${generateUuidV7(receivedAt)}`,
    eventTime,
    decision,
  }
}

function readEventId(
  faults: FieldErrorList,
  { event_id }: EventSubmission,
  idempotencyKey: string | undefined,
): string | null {
  const given = typeof event_id === 'string' ? event_id : undefined
  const identity = resolveEventId(given, idempotencyKey)
  if ('eventId' in identity) return identity.eventId
  faults.add(identity.conflict.field, identity.conflict.sentence)
  return null
}

function readSubmittedTime(
  faults: FieldErrorList,
  { event_time }: EventSubmission,
  receivedAt: Date,
): Date {
  const isReadable = typeof event_time === 'string' || Number.isInteger(event_time)
  const time = parseEventTime(isReadable ? event_time : undefined, receivedAt)
  if ('at' in time) return time.at
  faults.add('event_time', time.fault)
  return receivedAt
}

/** Null when the basis itself is wrong, which the schema has already said. */
function decideSubmissionConsent(
  faults: FieldErrorList,
  body: EventSubmission,
  grounds: { receivedAt: Date; eventTime: Date; identityPresent: boolean },
): ConsentDecision | null {
  if (body.consent_basis !== 'consent' && body.consent_basis !== 'legitimate_interest') return null
  const decision = decideConsent(body, grounds)
  if (decision.outcome === 'denied') {
    const field = decision.denied_field
    faults.add(
      field,
      `The ${field} field denies: use consent only with granted downstream advertising state.`,
    )
  }
  return decision
}

/** A body as it came; members may be missing or of any type. */
type RawSubmission = Record<string, unknown>

const TEXT_MEMBERS = [
  'event_id',
  'event_name',
  'parent_event_id',
  'event_source',
  'action_source',
  'visitor_id',
]

/**
 * Adds what no schema can say: rules that join members, and limits in bytes. Each rule looks only
 * at members of the right type, so that it can run on any body and the caller hears of every wrong
 * field at once.
 */
function addCrossFieldErrors(faults: FieldErrorList, body: RawSubmission): void {
  for (const name of TEXT_MEMBERS) addTextError(faults, name, body[name])
  for (const name of ['event_id', 'event_name']) {
    const text = body[name]
    if (typeof text === 'string' && text !== '' && text.trim() === '') {
      faults.add(name, `The ${name} field must not be empty.`)
    }
  }
  const value = isObject(body.value_data) ? body.value_data : {}
  addTextError(faults, 'value_data.order_id', value.order_id)
  addContentsErrors(faults, value.contents)
  addUnsafeNumberError(faults, 'value_data.num_items', value.num_items)
  if (body.event_name === 'Purchase' && value.value !== undefined && value.currency === undefined) {
    faults.add('value_data.currency', 'The value_data.currency field is required with a value.')
  }
  if (body.consent_basis === 'legitimate_interest') addLegitimateInterestErrors(faults, body, value)
}

/** No revenue and no identity on legitimate interest (spec: rule 3 on consent). */
function addLegitimateInterestErrors(
  faults: FieldErrorList,
  body: RawSubmission,
  value: Record<string, unknown>,
): void {
  const names = LIFECYCLE_EVENT_NAMES.join(' and ')
  if (value.value !== undefined) {
    faults.add(
      'value_data',
      'The value_data field must carry no value on legitimate interest: send revenue with consent.',
    )
  }
  if (findIdentityMember(body.user_data) !== null) {
    faults.add(
      'user_data',
      'The user_data field must carry no identity on legitimate interest, which covers only ' +
        `${names}.`,
    )
  }
}

function addContentsErrors(faults: FieldErrorList, contents: unknown): void {
  if (!Array.isArray(contents)) return
  const field = 'value_data.contents'
  if (Buffer.byteLength(JSON.stringify(contents)) > CONTENTS_BYTES_MAX) {
    faults.add(field, `The ${field} field must not be greater than 16 KiB.`)
  }
  addUnsafeNumberError(faults, field, contents)
}

function addUnsafeNumberError(faults: FieldErrorList, field: string, value: unknown): void {
  if (!holdsUnsafeNumber(value)) return
  faults.add(field, `The ${field} field holds a number too large to keep all its digits.`)
}

/**
 * JSON numbers are read as doubles: an integer beyond 2^53 would come back as another one, and one
 * beyond 10^308 as null.
 */
function holdsUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value) || losesPrecision(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(holdsUnsafeNumber)
}

function losesPrecision(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const EDGE_ONLY_KEYS = ['client_ip_address', 'client_user_agent']

/**
 * Browsers may not say who they are: whatever a page writes there anybody can write (spec: rules on
 * the consent and identity fields, 4). Every spelling counts; null says nothing.
 */
function addEdgeFieldErrors(faults: FieldErrorList, userData: unknown): void {
  if (typeof userData !== 'object' || userData === null || Array.isArray(userData)) return
  for (const [name, value] of Object.entries(userData)) {
    if (value === null) continue
    const meaning = findUserDataKey(name)
    if (meaning === null || !EDGE_ONLY_KEYS.includes(meaning.key)) continue
    const field = `user_data.${name}`
    faults.add(
      field,
      `The ${field} field is not taken with a publishable key: the address and the user agent of ` +
        'the browser come from the trusted edge alone.',
    )
  }
}
