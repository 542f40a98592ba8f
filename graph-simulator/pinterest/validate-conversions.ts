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

export const EVENTS_MAX = 1_000
/** The most events of a request with `?test=true`. */
export const TEST_EVENTS_MAX = 20
const TEXT_MAX = 100_000
const LIST_MAX = 10_000

const anyText = text(0, TEXT_MAX)
const nullable =
  (check: FieldCheck): FieldCheck =>
  (value, path, errors) => {
    if (value !== null) check(value, path, errors)
  }
const textOrNull = nullable(anyText)
const texts = list(anyText, LIST_MAX)
const whole = integer(0, Number.MAX_SAFE_INTEGER)

/** The members of an item, as the OpenAPI of Pinterest has them. */
export const ITEM_MEMBERS = {
  id: anyText,
  item_name: anyText,
  item_category: anyText,
  item_brand: anyText,
  item_price: anyText,
  quantity: whole,
}

export const CUSTOM_DATA_MEMBERS = {
  currency: textOrNull,
  value: textOrNull,
  content_ids: texts,
  content_name: textOrNull,
  content_category: textOrNull,
  content_brand: textOrNull,
  contents: list(object(ITEM_MEMBERS), LIST_MAX),
  num_items: whole,
  order_id: textOrNull,
  search_string: textOrNull,
  opt_out_type: textOrNull,
  np: textOrNull,
  predicted_ltv: textOrNull,
}

export const USER_DATA_MEMBERS = {
  em: texts,
  hashed_maids: texts,
  client_ip_address: anyText,
  client_user_agent: anyText,
  ph: texts,
  ge: texts,
  db: texts,
  ln: texts,
  fn: texts,
  ct: texts,
  st: texts,
  zp: texts,
  country: texts,
  external_id: texts,
  click_id: textOrNull,
  partner_id: textOrNull,
}

const EVENT_MEMBERS: Record<string, FieldCheck> = {
  event_name: anyText,
  action_source: anyText,
  event_time: integer(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  event_id: anyText,
  event_source_url: textOrNull,
  opt_out: flag,
  partner_name: textOrNull,
  user_data: object(USER_DATA_MEMBERS),
  custom_data: object(CUSTOM_DATA_MEMBERS),
  app_id: textOrNull,
  app_name: textOrNull,
  app_version: textOrNull,
  device_brand: textOrNull,
  device_carrier: textOrNull,
  device_model: textOrNull,
  device_type: textOrNull,
  os_version: textOrNull,
  wifi: flag,
  language: textOrNull,
}

const REQUIRED = ['event_name', 'action_source', 'event_time', 'event_id', 'user_data']

/** Why the request as a whole is refused with 400; undefined for a request that is read. */
export function findRequestError(body: unknown): string | undefined {
  const errors: FieldErrors = {}
  const checkEvent = object(EVENT_MEMBERS, REQUIRED)
  const members = { data: list(checkEvent, EVENTS_MAX) }
  checkObject(body, { path: '', members, required: ['data'] }, errors)
  const data = (body as { data?: unknown[] } | null)?.data
  if (Array.isArray(data) && data.length === 0) errors.data = ['Must have an event.']
  const [first] = Object.entries(errors)
  if (first) return `Invalid request: ${first[0]}: ${first[1].join(' ')}`
  const unnamed = (data as ConversionEvent[]).findIndex(({ user_data }) => !hasIdentity(user_data))
  return unnamed < 0 ? undefined : `Invalid request: data.${unnamed}.user_data names no one.`
}

export interface ConversionEvent {
  event_name: string
  action_source: string
  event_time: number
  event_id: string
  user_data: Record<string, string | string[] | null>
}

/** One of `em`, `hashed_maids`, or address and user agent together. */
function hasIdentity(userData: ConversionEvent['user_data']): boolean {
  const has = (name: string) => Object.hasOwn(userData, name) && userData[name]?.length !== 0
  return has('em') || has('hashed_maids') || (has('client_ip_address') && has('client_user_agent'))
}

const EVENT_NAMES = new Set(
  `add_payment_info add_to_cart add_to_wishlist app_install app_open checkout contact custom
  customize_product find_location initiate_checkout lead page_visit schedule search signup
  start_trial submit_application subscribe view_category view_content watch_video`.split(/\s+/),
)
const ACTION_SOURCES = ['web', 'app_android', 'app_ios', 'offline']
const DIGEST = /^[0-9a-f]{64}$/
const NOT_HASHED = ['client_ip_address', 'client_user_agent', 'click_id', 'partner_id']
const AGE_SECONDS_MAX = 7 * 86_400
const AHEAD_SECONDS_MAX = 60

/** Why this event fails while the others of its request are processed; undefined if it does not. */
export function findEventError(event: ConversionEvent, at: Date): string | undefined {
  if (!EVENT_NAMES.has(event.event_name)) return 'The event_name is not supported.'
  if (!ACTION_SOURCES.includes(event.action_source)) return 'The action_source is not supported.'
  if (event.event_id === '') return 'The event_id is empty.'
  const ageSeconds = at.getTime() / 1_000 - event.event_time
  if (ageSeconds > AGE_SECONDS_MAX) return 'The event_time is too old.'
  if (ageSeconds < -AHEAD_SECONDS_MAX) return 'The event_time is in the future.'
  const invalid = Object.entries(event.user_data).find(
    ([key, values]) => !NOT_HASHED.includes(key) && !isHashed(values),
  )
  return invalid && `The user_data.${invalid[0]} is not a SHA-256 digest: ${invalid[1]}`
}

function isHashed(values: string | string[] | null): boolean {
  return [values ?? []].flat().every(value => DIGEST.test(value))
}
