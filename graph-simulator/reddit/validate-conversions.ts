import {
  checkObject,
  type FieldCheck,
  type FieldErrors,
  integer,
  list,
  number,
  object,
  text,
} from '../field-check.ts'

export const EVENTS_MAX = 1_000
const TEXT_MAX = 4_096
const PRODUCTS_MAX = 10_000

const anyText = text(0, TEXT_MAX)
const money = number(-Number.MAX_VALUE, Number.MAX_VALUE)
const whole = integer(0, Number.MAX_SAFE_INTEGER)

const PRODUCT_MEMBERS = {
  id: anyText,
  name: anyText,
  category: anyText,
  item_price: money,
  quantity: whole,
}

const EVENT_MEMBERS: Record<string, FieldCheck> = {
  event_at: integer(0, Number.MAX_SAFE_INTEGER),
  action_source: anyText,
  event_source_url: anyText,
  click_id: anyText,
  type: object({ tracking_type: anyText, custom_event_name: anyText }, ['tracking_type']),
  metadata: object({
    conversion_id: anyText,
    value: money,
    currency: text(3, 3),
    item_count: whole,
    products: list(object(PRODUCT_MEMBERS), PRODUCTS_MAX),
  }),
  user: object({
    email: anyText,
    phone_number: anyText,
    external_id: anyText,
    ip_address: anyText,
    user_agent: anyText,
    uuid: anyText,
    idfa: anyText,
    aaid: anyText,
    screen_dimensions: object({ width: whole, height: whole }),
    data_processing_options: object({
      modes: list(text(3, 3), 1),
      country: text(2, 2),
      region: text(1, 8),
    }),
  }),
}

export interface RedditEvent {
  event_at: number
  action_source?: string
  type: { tracking_type: string; custom_event_name?: string }
  click_id?: string
  metadata: { conversion_id?: string; value?: number; currency?: string }
  user?: Record<string, unknown>
}

/** Why the whole request is refused with 400; undefined for one that is taken. */
export function findRequestError(body: unknown, at: Date): string | undefined {
  const errors: FieldErrors = {}
  const data = object(
    {
      events: list(object(EVENT_MEMBERS, ['event_at', 'type', 'metadata']), EVENTS_MAX),
      test_id: text(1, TEXT_MAX),
      partner: anyText,
    },
    ['events'],
  )
  checkObject(body, { path: '', members: { data }, required: ['data'] }, errors)
  const [first] = Object.entries(errors)
  if (first) return describeShape(first)
  const { events } = (body as { data: { events: RedditEvent[] } }).data
  if (events.length === 0) return 'missing events'
  return events.map(event => findEventError(event, at)).find(error => error !== undefined)
}

/** Unknown members in Reddit's own words. */
function describeShape([path, texts]: [string, string[]]): string {
  const [first = ''] = texts
  const name = path.split('.').at(-1)
  return first.startsWith('Unknown field')
    ? `JSON error "unknown field" on field "${name}"`
    : `JSON error on field "${path}": ${first}`
}

const ACTION_SOURCES = ['WEBSITE', 'APP', 'PHYSICAL_STORE', 'OTHER']
const TRACKING_TYPES = new Set([
  ...['PAGE_VISIT', 'VIEW_CONTENT', 'SEARCH', 'ADD_TO_CART', 'ADD_TO_WISHLIST'],
  ...['PURCHASE', 'LEAD', 'SIGN_UP', 'CUSTOM'],
])
const CUSTOM_NAME_CHARACTERS_MAX = 64
const AGE_MILLISECONDS_MAX = 7 * 86_400_000
const AHEAD_MILLISECONDS_MAX = 300_000
const SIGNALS = ['email', 'phone_number', 'external_id', 'ip_address', 'uuid', 'idfa', 'aaid']

function findEventError(event: RedditEvent, at: Date): string | undefined {
  const { action_source: source, metadata, user = {} } = event
  if (source === undefined) return 'missing action_source'
  if (!ACTION_SOURCES.includes(source)) return `invalid action_source: ${source}`
  const age = at.getTime() - event.event_at
  if (age > AGE_MILLISECONDS_MAX || age < -AHEAD_MILLISECONDS_MAX) {
    return `invalid event_at: ${event.event_at}`
  }
  if (!metadata.conversion_id) return 'missing conversion_id'
  if ((metadata.value === undefined) !== (metadata.currency === undefined)) {
    return `value and currency are sent together: ${metadata.value ?? metadata.currency}`
  }
  const hasSignal = Boolean(event.click_id) || SIGNALS.some(name => user[name])
  if (!hasSignal) return 'missing attribution signal'
  const options = user.data_processing_options as { country?: string } | undefined
  if (options && options.country === undefined) return 'missing country of data_processing_options'
  return findTypeError(event.type)
}

function findTypeError({ tracking_type: type, custom_event_name: name }: RedditEvent['type']) {
  if (!TRACKING_TYPES.has(type)) return `invalid tracking_type: ${type}`
  if (type !== 'CUSTOM') {
    return name === undefined ? undefined : `custom_event_name is of CUSTOM only: ${name}`
  }
  if (!name) return 'missing custom_event_name'
  return name.length > CUSTOM_NAME_CHARACTERS_MAX ? `invalid custom_event_name: ${name}` : undefined
}
