import { type EventSubmission, hash } from '@signalbox/sdk'
import { isObject } from '../../../service/runtime/util/is-object.ts'
import { createUsageError } from './cli-error.ts'

/** A member of an event that has an option, and a short name in files. */
interface EventField {
  /** As an option; in a file also with underscores. */
  name: string
  /** Dotted path in the event. */
  member: string
  placeholder: string
  description: string
}

export const EVENT_FIELDS: readonly EventField[] = [
  field('id', 'event_id', 'id', 'your id of the event; makes a repetition harmless'),
  field('name', 'event_name', 'name', 'such as Purchase'),
  field('time', 'event_time', 'time', 'ISO 8601 with an offset, or Unix seconds; now by default'),
  field('value', 'value_data.value', 'amount', 'such as 19.95; sent as text, exactly'),
  field('currency', 'value_data.currency', 'code', 'ISO 4217, such as EUR'),
  field('order-id', 'value_data.order_id', 'id', 'your id of the order'),
  field('items', 'value_data.num_items', 'count', 'number of items'),
  field('email', 'user_data.em', 'address', 'hashed here; only the digest is sent'),
  field('phone', 'user_data.ph', 'number', 'international form; hashed here'),
  field('external-id', 'user_data.external_id', 'id', 'your id of the person; hashed here'),
  field('visitor-id', 'visitor_id', 'id', 'your pseudonymous id of the visitor'),
  field('action-source', 'action_source', 'source', 'such as website or physical_store'),
  field('url', 'event_source', 'url', 'the page of the event'),
  field('parent-id', 'parent_event_id', 'id', 'the event that this one belongs to'),
  field('consent-basis', 'consent_basis', 'basis', 'consent or legitimate_interest; required'),
  field('consent-granted-at', 'consent.captured_at', 'time', 'when the person agreed'),
]

function field(name: string, member: string, placeholder: string, description: string): EventField {
  return { name, member, placeholder, description }
}

/** A body before the service has checked it. */
export type EventBody = Record<string, unknown>

/** The members that options give, by dotted path. */
export function readFieldOptions(options: Record<string, unknown>): Map<string, unknown> {
  const members = new Map<string, unknown>()
  for (const { name, member } of EVENT_FIELDS) {
    const text = options[toCamelCase(name)]
    if (typeof text === 'string') members.set(member, coerceText(member, text))
  }
  if (members.has('consent.captured_at')) members.set('consent.advertising', 'granted')
  return members
}

/** Unix seconds and counts are numbers, and money and everything else stays text. */
export function coerceText(member: string, text: string): unknown {
  if (NUMBERS.has(member) && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (BOOLEANS.has(member) && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}

const NUMBERS = new Set([
  'event_time',
  'value_data.num_items',
  'data_processing_options_country',
  'data_processing_options_state',
])
const BOOLEANS = new Set(['opt_out'])

/** Sets a member by its dotted path. Throws when a part of the way is no object. */
export function setMember(event: EventBody, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let parent = event
  for (const name of names) {
    if (!Object.hasOwn(parent, name)) define(parent, name, {})
    const child = parent[name]
    if (!isObject(child)) throw createUsageError(`${path} cannot be set: ${name} is no object.`)
    parent = child
  }
  define(parent, last, value)
}

/** A name such as `__proto__` becomes a member like any other. */
function define(parent: EventBody, name: string, value: unknown): void {
  Object.defineProperty(parent, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}

export function hasMember(event: EventBody, path: string): boolean {
  let value: unknown = event
  for (const name of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return false
    value = value[name]
  }
  return value !== null && value !== undefined
}

const HASHERS: Readonly<Record<string, (text: string) => Promise<string | null>>> = {
  em: hash.email,
  email: hash.email,
  ph: hash.phone,
  phone: hash.phone,
  external_id: hash.externalId,
  externalId: hash.externalId,
}

/**
 * Replaces email addresses, phone numbers and external ids with their digests. A value that only
 * the service can normalize, such as a national phone number, stays as it is.
 */
export async function hashIdentifiers(event: EventBody): Promise<EventBody> {
  const { user_data: userData } = event
  if (!isObject(userData)) return event
  const hashed: EventBody = { ...userData }
  for (const [name, value] of Object.entries(userData)) {
    const hasher = Object.hasOwn(HASHERS, name) ? HASHERS[name] : undefined
    if (!hasher) continue
    const digest = async (text: unknown) =>
      typeof text === 'string' ? ((await hasher(text)) ?? text) : text
    hashed[name] = Array.isArray(value) ? await Promise.all(value.map(digest)) : await digest(value)
  }
  return { ...event, user_data: hashed }
}

/** What the type of the SDK asks for, the service checks. */
export function toSubmission(event: EventBody): EventSubmission {
  return event as unknown as EventSubmission
}

function toCamelCase(name: string): string {
  return name.replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())
}
