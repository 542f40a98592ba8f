import {
  checkObject,
  type FieldCheck,
  type FieldErrors,
  flag,
  integer,
  list,
  object,
  text,
} from '../field-check.ts'

export const EVENTS_MAX = 2_000
const TEXT_MAX = 100_000
const LIST_MAX = 10_000

const anyText = text(0, TEXT_MAX)
const texts = list(anyText, LIST_MAX)
const whole = integer(0, Number.MAX_SAFE_INTEGER)

/** A number in Snap's library, a text on its page: either is taken. */
const money: FieldCheck = (value, path, errors) => {
  const isNumber = typeof value === 'number' && Number.isFinite(value)
  const isText = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)
  if (!isNumber && !isText) errors[path] = ['Must be an amount.']
}

export const USER_DATA_MEMBERS = {
  em: texts,
  ph: texts,
  fn: texts,
  ln: texts,
  ge: texts,
  ct: texts,
  st: texts,
  zp: texts,
  country: texts,
  external_id: anyText,
  client_ip_address: anyText,
  client_user_agent: anyText,
  sc_click_id: anyText,
  sc_cookie1: anyText,
}

export const ITEM_MEMBERS = {
  id: anyText,
  quantity: anyText,
  item_price: anyText,
  brand: anyText,
  delivery_category: anyText,
}

export const CUSTOM_DATA_MEMBERS = {
  currency: anyText,
  value: money,
  order_id: anyText,
  num_items: whole,
  content_ids: texts,
  content_category: anyText,
  content_name: anyText,
  content_type: anyText,
  contents: list(object(ITEM_MEMBERS), LIST_MAX),
  delivery_category: anyText,
  predicted_ltv: money,
  search_string: anyText,
  status: anyText,
}

export const APP_DATA_MEMBERS = {
  advertiser_tracking_enabled: flag,
  app_id: anyText,
  campaign_ids: anyText,
  extinfo: texts,
  install_referrer: anyText,
  installer_package: anyText,
  url_schemes: texts,
  windows_attribution_id: anyText,
}

export const EVENT_MEMBERS: Record<string, FieldCheck> = {
  event_name: anyText,
  event_time: integer(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  event_id: anyText,
  action_source: anyText,
  event_source_url: anyText,
  opt_out: flag,
  data_processing_options: texts,
  user_data: object(USER_DATA_MEMBERS),
  custom_data: object(CUSTOM_DATA_MEMBERS),
  app_data: object(APP_DATA_MEMBERS),
  integration: anyText,
}

const REQUIRED = ['event_name', 'event_time', 'action_source', 'user_data']

export interface SnapEvent {
  event_name: string
  event_time: number
  event_id?: string
  action_source: string
  event_source_url?: string
  user_data: Record<string, string | string[]>
  custom_data?: { value?: unknown; currency?: unknown }
}

/** Why the request as a whole is no request of events; undefined for one that is. */
export function findRequestError(body: unknown): string | undefined {
  const errors: FieldErrors = {}
  const members = { data: list(object(EVENT_MEMBERS, REQUIRED), EVENTS_MAX) }
  checkObject(body, { path: '', members, required: ['data'] }, errors)
  const data = (body as { data?: unknown[] } | null)?.data
  if (Array.isArray(data) && data.length === 0) errors.data = ['Must have an event.']
  const [first] = Object.entries(errors)
  return first && `Invalid request: ${first[0]}: ${first[1].join(' ')}`
}

const EVENT_NAMES = new Set(
  `ACHIEVEMENT_UNLOCKED ADD_BILLING ADD_CART ADD_TO_WISHLIST AD_CLICK AD_VIEW APP_INSTALL APP_OPEN
  COMPLETE_TUTORIAL CUSTOM_EVENT_1 CUSTOM_EVENT_2 CUSTOM_EVENT_3 CUSTOM_EVENT_4 CUSTOM_EVENT_5
  INVITE LEVEL_COMPLETE LIST_VIEW LOGIN PAGE_VIEW PURCHASE RATE RESERVE SAVE SEARCH SHARE SIGN_UP
  SPENT_CREDITS START_CHECKOUT START_TRIAL SUBSCRIBE VIEW_CONTENT`.split(/\s+/),
)
const ACTION_SOURCES = ['WEB', 'MOBILE_APP', 'OFFLINE']
const DIGEST = /^[0-9a-f]{64}$/
const NOT_HASHED = ['client_ip_address', 'client_user_agent', 'sc_click_id', 'sc_cookie1']
const AGE_SECONDS_MAX = 37 * 86_400
const AHEAD_SECONDS_MAX = 60

/** Why this event refuses its whole request; undefined if it does not. */
export function findEventError(event: SnapEvent, at: Date): string | undefined {
  if (!EVENT_NAMES.has(event.event_name)) return 'Unrecognized event type.'
  if (!ACTION_SOURCES.includes(event.action_source)) return 'The action_source is not supported.'
  const ageSeconds = at.getTime() / 1_000 - event.event_time
  const isInRange = ageSeconds <= AGE_SECONDS_MAX && ageSeconds >= -AHEAD_SECONDS_MAX
  if (!isInRange) return 'Timestamp invalid or out of range.'
  if (event.action_source === 'WEB' && !event.event_source_url) {
    return 'The event_source_url is missing.'
  }
  const { value, currency } = event.custom_data ?? {}
  if (event.event_name === 'PURCHASE' && (value === undefined || !currency)) {
    return 'Missing price and/or currency.'
  }
  return findIdentityError(event.user_data)
}

/** Snap names what it refuses, with the value. */
function findIdentityError(userData: SnapEvent['user_data']): string | undefined {
  const { client_ip_address: address, client_user_agent: agent } = userData
  if (typeof address === 'string' && DIGEST.test(address)) return 'Invalid hashed IP Address.'
  const raw = Object.entries(userData).find(
    ([key, values]) => !NOT_HASHED.includes(key) && ![values].flat().every(one => DIGEST.test(one)),
  )
  if (raw) return `Unhashed PII in user_data.${raw[0]}: ${raw[1]}`
  const has = (name: string) => Object.hasOwn(userData, name) && userData[name]?.length !== 0
  return has('em') || has('ph') || (address && agent) ? undefined : 'Insufficient PII.'
}
