import { ACTION_SOURCES, PROCESSING_STATE_FIRST } from '@signalbox/contract/carried-members.ts'
import type { BrowserCaller } from '../access/authenticate-browser.ts'
import { addTextError, type FieldErrorList } from '../http/body-schema.ts'
import { findUserDataKey } from '../identity/user-data-keys.ts'
import { isObject } from '../util/is-object.ts'

type RawSubmission = Record<string, unknown>

/** Adds the errors between members that are carried to the platform as they are. */
export function addCarriedMemberErrors(
  errors: FieldErrorList,
  body: RawSubmission,
  browser: BrowserCaller | null,
): void {
  addTextError(errors, 'referrer_url', body.referrer_url)
  addActionSourceErrors(errors, body)
  addAppDataErrors(errors, body)
  addProcessingErrors(errors, body, browser)
}

/** Empty text counts as absent, and an absent source is `website`, which needs no companions. */
function addActionSourceErrors(errors: FieldErrorList, body: RawSubmission): void {
  const { action_source } = body
  if (typeof action_source !== 'string' || action_source === '') return
  const source = action_source.toLowerCase()
  if (!ACTION_SOURCES.some(known => known === source)) {
    if (errors.has('action_source')) return
    const known = ACTION_SOURCES.join(', ')
    errors.add('action_source', `The action_source field must be one of: ${known}.`)
  }
  if (source === 'app' && body.app_data === undefined) {
    errors.add('app_data', 'The app_data field is required with the action source app.')
  }
  if (source === 'business_messaging' && body.messaging_channel === undefined) {
    errors.add(
      'messaging_channel',
      'The messaging_channel field is required with the action source business_messaging.',
    )
  }
}

/** Meta refuses app events that lack them ("App Data Parameters"). */
const REQUIRED_OF_APPS = ['advertiser_tracking_enabled', 'extinfo'] as const
const OS_VERSION_PLACE = 4

function addAppDataErrors(
  errors: FieldErrorList,
  { action_source, app_data }: RawSubmission,
): void {
  if (!isObject(app_data)) return
  for (const [name, value] of Object.entries(app_data)) {
    addTextError(errors, 'app_data', name)
    for (const text of [value].flat()) addTextError(errors, 'app_data', text)
  }
  const isApp = typeof action_source === 'string' && action_source.toLowerCase() === 'app'
  for (const name of isApp ? REQUIRED_OF_APPS : []) {
    if (app_data[name] !== undefined) continue
    errors.add(`app_data.${name}`, `The app_data.${name} field is required for app events.`)
  }
  const { extinfo } = app_data
  if (!Array.isArray(extinfo) || extinfo.length === 0) return
  if (extinfo[0] !== 'a2' && extinfo[0] !== 'i2') {
    errors.add('app_data.extinfo', 'The app_data.extinfo field must begin with a2 or i2.')
  }
  if (extinfo[OS_VERSION_PLACE] === '') {
    const place = OS_VERSION_PLACE + 1
    errors.add(
      'app_data.extinfo',
      `The app_data.extinfo field must have the OS version at ${place}.`,
    )
  }
}

/**
 * Limited Data Use depends on where the person is. With a country the platform reads the state too;
 * without an address it cannot find out where the person is (Meta, "Data Processing Options").
 */
function addProcessingErrors(
  errors: FieldErrorList,
  body: RawSubmission,
  browser: BrowserCaller | null,
): void {
  const { data_processing_options: options, data_processing_options_country: country } = body
  const field = 'data_processing_options_state'
  const state = body.data_processing_options_state
  if (state !== undefined) {
    if (typeof state !== 'number' || state <= 0 || state >= PROCESSING_STATE_FIRST) return
    errors.add(field, `The ${field} field must be 0 or the number of a state, such as 1000.`)
    return
  }
  if (country !== undefined) errors.add(field, `The ${field} field is required with a country.`)
  else if (Array.isArray(options) && options.length > 0 && !hasAddress(body, browser)) {
    errors.add(
      field,
      `The ${field} field is required with LDU when the event has no client_ip_address.`,
    )
  }
}

function hasAddress({ user_data }: RawSubmission, browser: BrowserCaller | null): boolean {
  if (browser?.edge) return true
  if (!isObject(user_data)) return false
  return Object.entries(user_data).some(
    ([name, value]) => findUserDataKey(name)?.key === 'client_ip_address' && Boolean(value),
  )
}
