import { CONTENTS_BYTES_MAX, LIFECYCLE_EVENT_NAMES } from '@signalbox/contract/submissions.ts'
import { addTextFault, type FieldErrorList } from '../http/field-errors.ts'
import { identityMember } from '../identity/identity-member.ts'

/** A body as it came; members may be missing or of any type. */
export type RawSubmission = Record<string, unknown>

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
export function addSubmissionFaults(faults: FieldErrorList, body: RawSubmission): void {
  for (const name of TEXT_MEMBERS) addTextFault(faults, name, body[name])
  for (const name of ['event_id', 'event_name']) {
    const text = body[name]
    if (typeof text === 'string' && text !== '' && text.trim() === '') {
      faults.add(name, `The ${name} field must not be empty.`)
    }
  }
  const value = isObject(body.value_data) ? body.value_data : {}
  addTextFault(faults, 'value_data.order_id', value.order_id)
  addContentsFaults(faults, value.contents)
  addDigitsFault(faults, 'value_data.num_items', value.num_items)
  if (body.event_name === 'Purchase' && value.value !== undefined && value.currency === undefined) {
    faults.add('value_data.currency', 'The value_data.currency field is required with a value.')
  }
  if (body.consent_basis === 'legitimate_interest') addLegitimateInterestFaults(faults, body, value)
}

/** No revenue and no identity on legitimate interest (spec: rule 3 on consent). */
function addLegitimateInterestFaults(
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
  if (identityMember(body.user_data) !== null) {
    faults.add(
      'user_data',
      'The user_data field must carry no identity on legitimate interest, which covers only ' +
        `${names}.`,
    )
  }
}

function addContentsFaults(faults: FieldErrorList, contents: unknown): void {
  if (!Array.isArray(contents)) return
  const field = 'value_data.contents'
  if (Buffer.byteLength(JSON.stringify(contents)) > CONTENTS_BYTES_MAX) {
    faults.add(field, `The ${field} field must not be greater than 16 KiB.`)
  }
  addDigitsFault(faults, field, contents)
}

function addDigitsFault(faults: FieldErrorList, field: string, value: unknown): void {
  if (!holdsUnsafeNumber(value)) return
  faults.add(field, `The ${field} field holds a number too large to keep all its digits.`)
}

/**
 * JSON numbers are read as doubles: an integer beyond 2^53 would come back as another one, and one
 * beyond 10^308 as null.
 */
function holdsUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value) || isRounded(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(holdsUnsafeNumber)
}

function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
