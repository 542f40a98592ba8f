import type { ValueData } from '@signalbox/sdk'
import { toDecimalText } from './decimal-text.ts'
import { type Fit, fitId, hasControlCharacters, toOneLine } from './fit-ids.ts'

/** What was left out of an event, or shortened. Never holds a value. */
export interface Dropped {
  /** Dotted path of the member. */
  field: string
  reason: string
}

/** An event that the service takes, as far as these members decide. */
export interface FittedEvent {
  event: Record<string, unknown>
  dropped: Dropped[]
}

/**
 * Leaves out what the service would refuse with 422 although the event is clear without it: an
 * item too many, properties within properties, an unknown status. A purchase is worth more than
 * its `content_type`. Its value, its currency and its consent are never touched: an event that is
 * wrong in these must be refused. The event itself is not changed.
 */
export function fitEvent(event: Record<string, unknown>): FittedEvent {
  const dropped: Dropped[] = []
  const fitted = { ...event }
  const { event_source: source, value_data: value } = event
  if (source === '' || source === null) delete fitted.event_source
  else if (source !== undefined && !isAbsoluteUrl(source)) {
    delete fitted.event_source
    dropped.push({ field: 'event_source', reason: 'This is not an absolute URL.' })
  }
  for (const field of ['event_id', 'visitor_id', 'parent_event_id']) {
    if (!Object.hasOwn(event, field)) continue
    const { value: id, reason } = fitId(event[field])
    if (id === undefined) delete fitted[field]
    else fitted[field] = id
    if (reason !== undefined) dropped.push({ field, reason })
  }
  const { referrer_url: referrer } = event
  if (referrer === null) delete fitted.referrer_url
  else if (referrer !== undefined && !isLine(referrer)) {
    delete fitted.referrer_url
    dropped.push({ field: 'referrer_url', reason: 'This is not one line of text.' })
  }
  for (const field of ['user_data', 'click_ids']) {
    if (!Object.hasOwn(event, field)) continue
    const { value: members, reason } = fitIdentity(event[field])
    if (members === undefined) delete fitted[field]
    else fitted[field] = members
    if (reason !== undefined) dropped.push({ field, reason })
  }
  if (isObject(value)) fitted.value_data = fitValueData(value, dropped)
  return { event: fitted, dropped }
}

function isLine(value: unknown): boolean {
  return typeof value === 'string' && value.isWellFormed() && !hasControlCharacters(value)
}

function fitIdentity(value: unknown): Fit {
  if (value === null || value === undefined) return {}
  if (!isObject(value) || value instanceof Date) return { reason: 'Not an object.' }
  const { value: kept, isCut } = prune(value, ITEM_DEPTH_MAX)
  return isCut ? { value: kept, reason: 'What JSON cannot hold was left out.' } : { value }
}

/** Writes a line for each member that was left out, and returns the event. */
export function fitAndLog<Body extends { event_id?: string | undefined }>(
  body: Body,
  log: (line: string) => void = console.warn,
): Body {
  const { event, dropped } = fitEvent(body)
  for (const { field, reason } of dropped) log(`${body.event_id}: ${field} was cut. ${reason}`)
  return event as Body
}

type Rule = (value: unknown) => Fit

const CONTENT_TYPES = {
  product: true,
  product_group: true,
  hotel: true,
  flight: true,
  destination: true,
  vehicle: true,
  home_listing: true,
} satisfies Record<Extract<ValueData['content_type'], string>, true>

const DELIVERY_CATEGORIES = {
  in_store: true,
  curbside: true,
  home_delivery: true,
} satisfies Record<NonNullable<ValueData['delivery_category']>, true>

const CONTENTS_ITEMS_MAX = 50
const CONTENTS_BYTES_MAX = 16_384
const CONTENT_IDS_MAX = 100
const CONTENT_ID_CHARACTERS_MAX = 256
const TEXT_CHARACTERS_MAX = 1_000
const STATUS_CHARACTERS_MAX = 100
const PROPERTIES_MAX = 100
const PROPERTIES_BYTES_MAX = 8_192
const PROPERTIES_DEPTH_MAX = 3
/** Deeper items are no items of an order. */
const ITEM_DEPTH_MAX = 8

const RULES: Record<Exclude<keyof ValueData, 'currency'>, Rule> = {
  value: fitMoney,
  order_id: value => fitText(toOneLine(value), Number.POSITIVE_INFINITY),
  contents: fitContents,
  num_items: fitCount,
  content_type: fitContentType,
  content_ids: fitContentIds,
  content_name: value => fitText(value, TEXT_CHARACTERS_MAX),
  content_category: value => fitText(value, TEXT_CHARACTERS_MAX),
  search_string: value => fitText(value, TEXT_CHARACTERS_MAX),
  status: value => (typeof value === 'boolean' ? { value } : fitText(value, STATUS_CHARACTERS_MAX)),
  predicted_ltv: fitOtherMoney,
  net_revenue: fitOtherMoney,
  delivery_category: value => fitWord(value, DELIVERY_CATEGORIES),
  custom_properties: fitProperties,
}

const STANDARD = new Set([...Object.keys(RULES), 'currency'])

function fitValueData(value: Record<string, unknown>, dropped: Dropped[]): Record<string, unknown> {
  const fitted: Record<string, unknown> = {}
  for (const [name, given] of Object.entries(value)) {
    if (given === null || given === undefined) continue
    const rule = Object.hasOwn(RULES, name) ? RULES[name as keyof typeof RULES] : undefined
    const { value: kept, reason } = rule ? rule(given) : { value: given }
    if (kept !== undefined) define(fitted, name, kept)
    if (reason !== undefined) dropped.push({ field: `value_data.${name}`, reason })
  }
  return fitted
}

/** Text that is no amount stays, so that the service refuses the event and names the value. */
function fitMoney(value: unknown): Fit {
  return { value: typeof value === 'number' ? toDecimalText(value) : value }
}

function fitOtherMoney(value: unknown): Fit {
  const text = toDecimalText(value) ?? ''
  return /^-?\d{1,15}(\.\d{1,6})?$/.test(text) ? { value: text } : { reason: 'No decimal.' }
}

function fitCount(value: unknown): Fit {
  const count = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(count) ? { value: count } : { reason: 'Not a whole number.' }
}

function fitWord(value: unknown, words: object): Fit {
  const isKnown = typeof value === 'string' && Object.hasOwn(words, value)
  return isKnown ? { value } : { reason: `Not one of: ${Object.keys(words).join(', ')}.` }
}

/** One kind or a list of kinds; unknown ones of a list are left out. */
function fitContentType(value: unknown): Fit {
  if (!Array.isArray(value)) return fitWord(value, CONTENT_TYPES)
  const kinds = new Set(value.filter(one => fitWord(one, CONTENT_TYPES).reason === undefined))
  if (kinds.size === 0) return { reason: 'It lists no known type.' }
  const isWhole = value.every(one => kinds.has(one))
  return { value: [...kinds], ...(!isWhole && { reason: 'Unknown types are left out.' }) }
}

/** A list of texts, such as the categories of a product, becomes one text. */
function fitText(value: unknown, charactersMax: number): Fit {
  const parts = Array.isArray(value) ? value : [value]
  if (parts.length === 0 || !parts.every(isTextLike)) return { reason: 'Not a text.' }
  const text = cleanText(parts.join(', '))
  const characters = [...text]
  if (characters.length <= charactersMax) return { value: text }
  const cut = characters.slice(0, charactersMax).join('')
  return { value: cut, reason: `Only the first ${charactersMax} characters were kept.` }
}

function isTextLike(value: unknown): boolean {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function fitContents(value: unknown): Fit {
  const given = isObject(value) ? [value] : value
  if (!Array.isArray(given)) return { reason: 'Not a list.' }
  const { value: items, isCut } = prune(given.slice(0, CONTENTS_ITEMS_MAX), ITEM_DEPTH_MAX)
  const kept = items as unknown[]
  const count = kept.length
  while (bytesOf(kept) > CONTENTS_BYTES_MAX) kept.pop()
  const reasons = [
    given.length > CONTENTS_ITEMS_MAX ? `Only the first ${CONTENTS_ITEMS_MAX} were kept.` : '',
    kept.length < count ? 'Only what fits into 16 KiB was kept.' : '',
    isCut ? CUT_PARTS : '',
  ].filter(Boolean)
  return { value: kept, ...(reasons.length > 0 && { reason: reasons.join(' ') }) }
}

function fitContentIds(value: unknown): Fit {
  const given = Array.isArray(value) ? value : [value]
  const ids = given
    .filter(isTextLike)
    .map(id => toOneLine(typeof id === 'string' ? cleanText(id) : id))
  const short = ids.filter(id => [...String(id)].length <= CONTENT_ID_CHARACTERS_MAX)
  const kept = short.slice(0, CONTENT_IDS_MAX)
  const isCut = kept.length < given.length
  return {
    value: kept.length === 0 ? undefined : kept,
    ...(isCut && { reason: `Only IDs were kept, at most ${CONTENT_IDS_MAX}.` }),
  }
}

/** Members in order, as long as they fit. A name that the platform reads elsewhere is left out. */
function fitProperties(value: unknown): Fit {
  if (!isObject(value)) return { reason: 'Not an object.' }
  const kept: Record<string, unknown> = {}
  let count = 0
  let bytes = 2
  let isAnyCut = false
  for (const [name, given] of Object.entries(value)) {
    const { value: own, isCut } = prune(given, PROPERTIES_DEPTH_MAX - 1)
    isAnyCut ||= isCut
    if (own === undefined || STANDARD.has(name)) {
      isAnyCut ||= given !== undefined
      continue
    }
    const size = bytesOf({ [name]: own }) - 1
    const members = 1 + countMembers(own)
    if (count + members > PROPERTIES_MAX || bytes + size > PROPERTIES_BYTES_MAX) {
      isAnyCut = true
      continue
    }
    count += members
    bytes += size
    define(kept, name, own)
  }
  const isEmpty = Object.keys(kept).length === 0
  return { value: isEmpty ? undefined : kept, ...(isAnyCut && { reason: CUT_PARTS }) }
}

const CUT_PARTS =
  'Parts were left out: nested too deep, too many, too large, no JSON, or named as a member of ' +
  'value_data.'

/** What JSON can hold, with at most so many levels of objects and lists. */
function prune(value: unknown, levels: number): { value?: unknown; isCut: boolean } {
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? { isCut: true } : prune(value.toJSON(), levels)
  }
  if (typeof value === 'string') return { value: cleanText(value), isCut: false }
  if (typeof value === 'boolean' || value === null) return { value, isCut: false }
  if (typeof value === 'number') {
    const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
    return isExact ? { value, isCut: false } : { isCut: true }
  }
  if (levels === 0 || typeof value !== 'object') return { isCut: value !== undefined }
  const entries = Object.entries(value).map(([name, member]) => {
    return { name: cleanText(name), ...prune(member, levels - 1) }
  })
  const isCut = entries.some(entry => entry.isCut)
  const kept = entries.filter(entry => entry.value !== undefined)
  if (Array.isArray(value)) return { value: kept.map(entry => entry.value), isCut }
  const object = {}
  for (const entry of kept) define(object, entry.name, entry.value)
  return { value: object, isCut }
}

/** A name such as `__proto__` is a name like any other. */
function define(object: object, name: string, value: unknown): void {
  const isOwn = { enumerable: true, writable: true, configurable: true }
  Object.defineProperty(object, name, { value, ...isOwn })
}

/** The members and items at every level. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, one) => sum + 1 + countMembers(one), 0)
}

function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}

/** Without NUL and halves of a character, which no store holds. */
function cleanText(text: string): string {
  return text.replace(/[\0\ud800-\udfff]/gu, '')
}

/** As the service reads it: a scheme, and no white space. */
function isAbsoluteUrl(text: unknown): boolean {
  if (typeof text !== 'string') return false
  return /^[a-z][a-z0-9+.-]*:[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
