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
const TEXT_MAX = 100_000
const LIST_MAX = 10_000

const anyText = text(0, TEXT_MAX)
/** Of any size: amounts have up to nineteen digits. */
const whole: FieldCheck = (value, path, errors) => {
  if (!Number.isInteger(value)) errors[path] = ['Must be an integer.']
}
const identifiers = list(anyText, LIST_MAX)

const MONEY = { amount: whole, currency: anyText }
const CONTENT = {
  ...MONEY,
  id: anyText,
  group_id: anyText,
  name: anyText,
  content_type: anyText,
  quantity: integer(0, Number.MAX_SAFE_INTEGER),
}
const CONTENTS = { contents: list(object(CONTENT), LIST_MAX) }
const PLAN = { plan_id: anyText }

/** The members of `data` by its type. */
const DATA_MEMBERS: Record<string, Record<string, FieldCheck>> = {
  contents: { type: anyText, ...MONEY, ...CONTENTS },
  customer_action: { type: anyText, ...MONEY },
  plan_enrollment: { type: anyText, ...MONEY, ...CONTENTS, ...PLAN },
  custom: { type: anyText, ...MONEY, ...CONTENTS, ...PLAN },
}

const USER_MEMBERS = {
  emails_sha256: identifiers,
  phone_numbers_sha256: identifiers,
  external_ids_sha256: identifiers,
  first_names_sha256: identifiers,
  last_names_sha256: identifiers,
  ip_address: text(1, TEXT_MAX),
  user_agent: text(1, TEXT_MAX),
  obref: anyText,
}

const EVENT_MEMBERS: Record<string, FieldCheck> = {
  id: text(1, TEXT_MAX),
  type: anyText,
  timestamp_ms: integer(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  custom_event_name: anyText,
  action_source: anyText,
  source_url: anyText,
  oppref: anyText,
  opt_out: flag,
  user: object(USER_MEMBERS),
  data: (value, path, errors) => {
    const { type } = (value ?? {}) as { type?: unknown }
    const members = DATA_MEMBERS[String(type)] ?? {}
    checkObject(value, { path, members, required: ['type'] }, errors)
  },
}

const REQUIRED = ['id', 'type', 'timestamp_ms', 'data']

export interface OpenaiEvent {
  id: string
  type: string
  timestamp_ms: number
  custom_event_name?: string
  action_source?: string
  source_url?: string
  user?: Record<string, string | string[]>
  data: { type: string; amount?: number; currency?: string; contents?: OpenaiEvent['data'][] }
}

/** Why the request is no request of events; undefined for one that is. */
export function findRequestError(body: unknown): string | undefined {
  const errors: FieldErrors = {}
  const events = list(object(EVENT_MEMBERS, REQUIRED), EVENTS_MAX)
  const members = { validate_only: flag, integration_source: anyText, events }
  checkObject(body, { path: '', members, required: ['events'] }, errors)
  const listed = (body as { events?: unknown[] } | null)?.events
  if (Array.isArray(listed) && listed.length === 0) errors.events = ['Must have an event.']
  const [first] = Object.entries(errors)
  return first && `Invalid request: ${first[0]}: ${first[1].join(' ')}`
}

const DATA_TYPES: Record<string, string> = {
  page_viewed: 'contents',
  contents_viewed: 'contents',
  items_added: 'contents',
  checkout_started: 'contents',
  order_created: 'contents',
  lead_created: 'customer_action',
  registration_completed: 'customer_action',
  appointment_scheduled: 'customer_action',
  app_installed: 'customer_action',
  app_opened: 'customer_action',
  subscription_created: 'plan_enrollment',
  trial_started: 'plan_enrollment',
  custom: 'custom',
}
const ACTION_SOURCES = [
  ...['web', 'mobile_app', 'offline', 'physical_store', 'phone_call', 'email', 'other'],
]
const CUSTOM_NAME = /^[A-Za-z0-9]$|^[A-Za-z0-9][A-Za-z0-9_-]{0,62}[A-Za-z0-9]$/
const DIGEST = /^[0-9a-f]{64}$/
const AGE_MILLISECONDS_MAX = 7 * 86_400_000
const AHEAD_MILLISECONDS_MAX = 600_000
const VALUES_MAX = 3

/** Why this event refuses its whole request; undefined if it does not. */
export function findEventError(event: OpenaiEvent, at: Date): string | undefined {
  const { type, timestamp_ms, action_source = 'web', source_url = '', data } = event
  if (!Object.hasOwn(DATA_TYPES, type)) return `Unsupported event type: ${type}`
  if (data.type !== DATA_TYPES[type]) return `data.type must be ${DATA_TYPES[type]}.`
  if ((type === 'custom') !== (event.custom_event_name !== undefined)) {
    return 'custom_event_name is of custom events.'
  }
  const custom = event.custom_event_name ?? 'none'
  if (!CUSTOM_NAME.test(custom) || Object.hasOwn(DATA_TYPES, custom)) {
    return `Invalid custom_event_name: ${custom}`
  }
  const age = at.getTime() - timestamp_ms
  if (age > AGE_MILLISECONDS_MAX || age < -AHEAD_MILLISECONDS_MAX)
    return 'timestamp_ms is out of range.'
  if (!ACTION_SOURCES.includes(action_source)) return 'Unsupported action_source.'
  if (action_source === 'web' && !URL.canParse(source_url)) return 'source_url is required for web.'
  return findMoneyError(data) ?? findUserError(event.user ?? {})
}

function findMoneyError(data: OpenaiEvent['data']): string | undefined {
  const isMissing = [data, ...(data.contents ?? [])].some(
    ({ amount, currency }) => amount !== undefined && !/^[A-Z]{3}$/.test(currency ?? ''),
  )
  return isMissing ? 'An amount needs a currency.' : undefined
}

/** It repeats what it refuses, as a careless API does. */
function findUserError(user: NonNullable<OpenaiEvent['user']>): string | undefined {
  for (const [member, values] of Object.entries(user)) {
    if (!Array.isArray(values)) continue
    if (values.length > VALUES_MAX) return `user.${member} has more than ${VALUES_MAX} values.`
    const raw = values.find(value => !DIGEST.test(value))
    if (raw !== undefined) return `user.${member} is no digest: ${raw}`
  }
  return undefined
}
