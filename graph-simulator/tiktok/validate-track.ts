import {
  checkObject,
  type FieldCheck,
  type FieldErrors,
  flag,
  list,
  object,
} from '../field-check.ts'

export const EVENTS_MAX = 1_000
const LIST_MAX = 10_000
const TEXT_MAX = 100_000

/** TikTok's messages name the place and repeat the value. */
function check(message: string, isValid: (value: unknown) => boolean): FieldCheck {
  return (value, path, errors) => {
    if (!isValid(value)) errors[path] = [`${message}: ${JSON.stringify(value)}`]
  }
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= TEXT_MAX
const text = check('Not a valid string', isText)
const time = check('Not a valid integer', value => Number.isSafeInteger(value))
const amount = check('Not a valid number', value => typeof value === 'number' && value >= 0)
const whole = check(
  'Not a valid integer',
  value => Number.isSafeInteger(value) && Number(value) >= 0,
)
const DIGEST = /^[0-9a-f]{64}$/
const digest = check('Not a SHA-256 digest', value => isText(value) && DIGEST.test(value))
const digests = list(digest, LIST_MAX)

const USER_MEMBERS = {
  email: digests,
  phone: digests,
  external_id: digest,
  first_name: digest,
  last_name: digest,
  zip_code: digest,
  ttclid: text,
  ttp: text,
  ip: text,
  user_agent: text,
}
/** Refused where an event happened in no browser. */
const BROWSER_MEMBERS = ['ttclid', 'ttp', 'ip', 'user_agent']

const ITEM_MEMBERS = {
  content_id: text,
  content_type: text,
  content_name: text,
  content_category: text,
  brand: text,
  price: amount,
  quantity: whole,
}

const PROPERTY_CHECKS: Record<string, FieldCheck> = {
  value: amount,
  currency: check('Not a currency', value => isText(value) && /^[A-Z]{3}$/.test(value)),
  content_type: check('Not a content type', value =>
    ['product', 'product_group'].includes(String(value)),
  ),
  content_ids: list(text, LIST_MAX),
  contents: list(object(ITEM_MEMBERS), LIST_MAX),
  order_id: text,
  query: text,
  search_string: text,
  num_items: whole,
  predicted_ltv: amount,
}

/** Properties of the sender's own are taken. */
const properties: FieldCheck = (value, path, errors) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    errors[path] = ['Not an object']
    return
  }
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(PROPERTY_CHECKS, name) ? PROPERTY_CHECKS[name] : undefined
    own?.(member, `${path}.${name}`, errors)
  }
}

const NAME = /^[A-Za-z][\w-]{0,49}$/
const EVENT_MEMBERS: Record<string, FieldCheck> = {
  event: check('Not an event name', value => isText(value) && NAME.test(value)),
  event_time: time,
  event_id: text,
  user: object(USER_MEMBERS),
  properties,
  page: object({ url: text, referrer: text }, ['url']),
  limited_data_use: flag,
}

const STANDARD_NAMES = new Set(
  `AddPaymentInfo AddToCart AddToWishlist ApplicationApproval CompleteRegistration Contact
  CustomizeProduct Download FindLocation InitiateCheckout Lead Purchase Schedule Search StartTrial
  SubmitApplication Subscribe ViewContent ClickButton CompletePayment PlaceAnOrder
  SubmitForm`.split(/\s+/),
)
const AGE_SECONDS_MAX = 7 * 86_400
const AHEAD_SECONDS_MAX = 300

export interface TrackRequest {
  event_source: string
  event_source_id: string
  test_event_code?: string
  data: TrackEvent[]
}

export interface TrackEvent {
  event: string
  event_time: number
  event_id: string
  user: Record<string, unknown>
  page?: object
  limited_data_use?: boolean
}

/** Why a request is refused as a whole: the first thing that is wrong; undefined for none. */
export function findTrackError(body: unknown, at: Date): string | undefined {
  const errors: FieldErrors = {}
  const members = {
    event_source: check('Not an event source', value => ['web', 'offline'].includes(String(value))),
    event_source_id: text,
    test_event_code: text,
    partner_name: text,
    data: list(object(EVENT_MEMBERS, ['event', 'event_time', 'event_id', 'user']), EVENTS_MAX),
  }
  const required = ['event_source', 'event_source_id', 'data']
  checkObject(body, { path: '', members, required }, errors)
  const [first] = Object.entries(errors)
  if (first) return `${first[0].replace(/^data\./, 'Batch.')}: ${first[1].join(' ')}`
  const { data, event_source } = body as TrackRequest
  if (data.length === 0) return 'data: Missing data for required field.'
  for (const [index, event] of data.entries()) {
    const found = findEventError(event, event_source, at)
    if (found !== undefined) return `Batch.${index}.${found}`
  }
  return undefined
}

function findEventError(event: TrackEvent, source: string, at: Date): string | undefined {
  const { event_time, user, limited_data_use } = event
  const ageSeconds = at.getTime() / 1_000 - event_time
  if (ageSeconds > AGE_SECONDS_MAX) return `event_time: Too old: ${event_time}`
  if (ageSeconds < -AHEAD_SECONDS_MAX) return `event_time: In the future: ${event_time}`
  if (source === 'web') {
    if (event.page === undefined) return 'page.url: Missing data for required field.'
    return limited_data_use && user.ip === undefined
      ? 'user.ip: Missing data for required field.'
      : undefined
  }
  if (!STANDARD_NAMES.has(event.event)) return `event: Not a standard event: ${event.event}`
  if (limited_data_use !== undefined) return 'limited_data_use: Unknown field.'
  const refused = BROWSER_MEMBERS.find(name => Object.hasOwn(user, name))
  return refused && `user.${refused}: Unknown field: ${user[refused]}`
}
