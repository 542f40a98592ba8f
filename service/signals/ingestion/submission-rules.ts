import { isCurrencyCode } from '@signalbox/contract/currencies.ts'
import { PROCESSING_STATE_FIRST } from '@signalbox/contract/event-context.ts'
import {
  CONTENTS_BYTES_MAX,
  CUSTOM_PROPERTIES_BYTES_MAX,
  CUSTOM_PROPERTIES_DEPTH_MAX,
  CUSTOM_PROPERTIES_MAX,
  VALUE_DATA_MEMBERS,
} from '@signalbox/contract/value-data.ts'
import { addTextError, type FieldErrorList } from '../../runtime/http/validator.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import type { BrowserCaller } from '../access/authenticate-publishable-key.ts'
import { findUserDataKey } from '../identity/user-data-keys.ts'

/** Adds the errors between members that are carried to the platform as they are. */
export function addContextErrors(
  errors: FieldErrorList,
  body: UntrustedObject,
  browser: BrowserCaller | null,
): void {
  addTextError(errors, 'referrer_url', body.referrer_url)
  addActionSourceErrors(errors, body)
  addAppDataErrors(errors, body)
  addProcessingErrors(errors, body, browser)
}

/**
 * Empty text counts as absent, and an absent source is `website`, which needs no companions. Any
 * other word is stored and sent as `other`.
 */
function addActionSourceErrors(errors: FieldErrorList, body: UntrustedObject): void {
  const { action_source } = body
  if (typeof action_source !== 'string') return
  const source = readActionSource(action_source)
  if (source === 'app' && body.app_data === undefined) {
    const sentence = 'The app_data field is required with the action source app.'
    errors.add('app_data', sentence, 'required')
  }
  if (source === 'business_messaging' && body.messaging_channel === undefined) {
    errors.add(
      'messaging_channel',
      'The messaging_channel field is required with the action source business_messaging.',
      'required',
    )
  }
}

/** The source of an event in the form that is stored. */
export function readActionSource(given: string | undefined): string {
  return given?.trim().toLowerCase() || 'website'
}

/** Meta refuses app events that lack them ("App Data Parameters"). */
const REQUIRED_OF_APPS = ['advertiser_tracking_enabled', 'extinfo'] as const
const OS_VERSION_PLACE = 4

function addAppDataErrors(
  errors: FieldErrorList,
  { action_source, app_data }: UntrustedObject,
): void {
  if (!isObject(app_data)) return
  for (const [name, value] of Object.entries(app_data)) {
    addTextError(errors, 'app_data', name)
    for (const text of [value].flat()) addTextError(errors, 'app_data', text, { isOneLine: false })
  }
  const isApp = typeof action_source === 'string' && readActionSource(action_source) === 'app'
  for (const name of isApp ? REQUIRED_OF_APPS : []) {
    if (app_data[name] !== undefined) continue
    const field = `app_data.${name}`
    errors.add(field, `The ${field} field is required for app events.`, 'required')
  }
  const { extinfo } = app_data
  if (!Array.isArray(extinfo) || extinfo.length === 0) return
  if (extinfo[0] !== 'a2' && extinfo[0] !== 'i2') {
    const sentence = 'The app_data.extinfo field must begin with a2 or i2.'
    errors.add('app_data.extinfo', sentence, 'invalid_format')
  }
  if (extinfo[OS_VERSION_PLACE] === '') {
    const place = OS_VERSION_PLACE + 1
    errors.add(
      'app_data.extinfo',
      `The app_data.extinfo field must have the OS version at ${place}.`,
      'invalid_format',
    )
  }
}

/**
 * Limited Data Use depends on where the person is. With a country the platform reads the state too;
 * without an address it cannot find out where the person is (Meta, "Data Processing Options").
 */
function addProcessingErrors(
  errors: FieldErrorList,
  body: UntrustedObject,
  browser: BrowserCaller | null,
): void {
  const { data_processing_options: options, data_processing_options_country: country } = body
  const field = 'data_processing_options_state'
  const state = body.data_processing_options_state
  if (state !== undefined) {
    if (typeof state !== 'number' || state <= 0 || state >= PROCESSING_STATE_FIRST) return
    const sentence = `The ${field} field must be 0 or the number of a state, such as 1000.`
    errors.add(field, sentence, 'out_of_range')
    return
  }
  if (country !== undefined) {
    errors.add(field, `The ${field} field is required with a country.`, 'required')
  } else if (Array.isArray(options) && options.length > 0 && !hasAddress(body, browser)) {
    errors.add(
      field,
      `The ${field} field is required with LDU when the event has no client_ip_address.`,
      'required',
    )
  }
}

function hasAddress({ user_data }: UntrustedObject, browser: BrowserCaller | null): boolean {
  if (browser?.edge) return true
  if (!isObject(user_data)) return false
  return Object.entries(user_data).some(
    ([name, value]) => findUserDataKey(name)?.key === 'client_ip_address' && Boolean(value),
  )
}

const TEXT_MEMBERS = ['order_id', 'content_name', 'content_category', 'search_string', 'status']
const THREE_LETTERS = /^[A-Za-z]{3}$/

/**
 * Adds the errors of `value_data` that a schema cannot express: currencies that do not exist,
 * limits in bytes, and numbers that lose digits.
 */
export function addValueDataErrors(
  errors: FieldErrorList,
  { event_name, value_data }: UntrustedObject,
): void {
  if (!isObject(value_data)) return
  for (const name of TEXT_MEMBERS) {
    const isOneLine = name === 'order_id'
    addTextError(errors, `value_data.${name}`, value_data[name], { isOneLine })
  }
  addCurrencyErrors(errors, event_name, value_data)
  addContentsErrors(errors, value_data.contents)
  addContentIdErrors(errors, value_data.content_ids)
  addCustomPropertyErrors(errors, value_data.custom_properties)
  addUnsafeNumberError(errors, 'value_data.num_items', value_data.num_items)
}

function addCurrencyErrors(
  errors: FieldErrorList,
  eventName: unknown,
  { value, currency }: UntrustedObject,
): void {
  const field = 'value_data.currency'
  if (eventName === 'Purchase' && value !== undefined && currency === undefined) {
    errors.add(field, `The ${field} field is required with a value.`, 'currency_required')
  }
  addCurrencyCodeError(errors, field, currency)
}

/** The schema reports text that does not have three letters. */
export function addCurrencyCodeError(errors: FieldErrorList, field: string, code: unknown): void {
  if (typeof code !== 'string' || !THREE_LETTERS.test(code) || isCurrencyCode(code)) return
  const sentence = `The ${field} field must be an ISO 4217 currency that is in use.`
  errors.add(field, sentence, 'unknown_currency')
}

function addContentsErrors(errors: FieldErrorList, contents: unknown): void {
  if (!Array.isArray(contents)) return
  const field = 'value_data.contents'
  if (mayExceed(contents, CONTENTS_BYTES_MAX) && byteLengthOf(contents) > CONTENTS_BYTES_MAX) {
    errors.add(field, `The ${field} field must not be greater than 16 KiB.`, 'too_large')
  }
  addUnsafeNumberError(errors, field, contents)
}

function byteLengthOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** The most that JSON takes for a number, `false` or `null`, and for a character of a text. */
const [VALUE_BYTES_MAX, CHARACTER_BYTES_MAX, MARKS_BYTES] = [25, 6, 4]

/**
 * Whether the JSON of a value may be longer. Most are far shorter, and need not be written: 0.5 µs
 * for three items of an order, of which `for...in` over a list would make 10.
 */
function mayExceed(value: unknown, bytesMax: number): boolean {
  return addBytes(0, value, bytesMax) > bytesMax
}

function addBytes(bytes: number, value: unknown, bytesMax: number): number {
  if (typeof value === 'string') return bytes + value.length * CHARACTER_BYTES_MAX + MARKS_BYTES
  if (typeof value !== 'object' || value === null) return bytes + VALUE_BYTES_MAX
  const names = Array.isArray(value) ? null : Object.keys(value)
  const items = names === null ? (value as unknown[]) : Object.values(value)
  let sum = bytes + MARKS_BYTES
  for (let index = 0; index < items.length && sum <= bytesMax; index += 1) {
    const nameCharacters = names?.[index]?.length ?? 0
    sum += nameCharacters * CHARACTER_BYTES_MAX + MARKS_BYTES
    sum = addBytes(sum, items[index], bytesMax)
  }
  return sum
}

function addContentIdErrors(errors: FieldErrorList, ids: unknown): void {
  const field = 'value_data.content_ids'
  if (!Array.isArray(ids)) {
    addTextError(errors, field, ids)
    addUnsafeNumberError(errors, field, ids)
    return
  }
  for (const [index, id] of ids.entries()) {
    addTextError(errors, `value_data.content_ids.${index}`, id)
    addUnsafeNumberError(errors, `value_data.content_ids.${index}`, id)
  }
}

/**
 * A property with the name of a member of `value_data` would take its place at the platform:
 * `custom_properties: {value: 0}` must not change the value of an order.
 */
function addCustomPropertyErrors(errors: FieldErrorList, properties: unknown): void {
  if (!isObject(properties)) return
  const field = 'value_data.custom_properties'
  const { count, depth } = measure(properties)
  if (count > CUSTOM_PROPERTIES_MAX) {
    errors.add(
      field,
      `The ${field} field must not have more than ${CUSTOM_PROPERTIES_MAX} members.`,
      'too_many_items',
    )
  }
  if (depth > CUSTOM_PROPERTIES_DEPTH_MAX) {
    const levels = CUSTOM_PROPERTIES_DEPTH_MAX
    const sentence = `The ${field} field must not be nested deeper than ${levels} levels.`
    errors.add(field, sentence, 'too_deep')
  }
  if (byteLengthOf(properties) > CUSTOM_PROPERTIES_BYTES_MAX) {
    errors.add(field, `The ${field} field must not be greater than 8 KiB.`, 'too_large')
  }
  for (const name of Object.keys(properties)) {
    if (!VALUE_DATA_MEMBERS.has(name)) continue
    errors.add(
      `${field}.${name}`,
      `The ${field}.${name} field has the name of a member of value_data: send it there.`,
      'reserved_name',
    )
  }
  addUnsafeNumberError(errors, field, properties)
}

/** The members and list items at every level, and the levels. */
function measure(value: unknown): { count: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { count: 0, depth: 0 }
  const inner = Object.values(value).map(measure)
  return {
    count: inner.reduce((sum, { count }) => sum + count, inner.length),
    depth: 1 + inner.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
  }
}

function addUnsafeNumberError(errors: FieldErrorList, field: string, value: unknown): void {
  if (!holdsUnsafeNumber(value)) return
  const sentence = `The ${field} field holds a number too large to keep all its digits.`
  errors.add(field, sentence, 'number_too_large')
}

/**
 * JSON numbers are parsed as doubles: an integer beyond 2^53 would be stored as another integer,
 * and a number beyond 10^308 as null.
 */
function holdsUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value) || losesPrecision(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(holdsUnsafeNumber)
}

function losesPrecision(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}
