import { isObject } from '../../runtime/util/is-object.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import {
  COLUMN_DICTIONARIES,
  decodeDigest,
  decodeLookup,
  type EncodedLookup,
  encodeDigest,
  encodeLookup,
  recodeDigests,
} from './column-dictionaries.ts'
import {
  type EventDetails,
  type EventRecord,
  type IdentityPayload,
  RESTRICTIONS_MEMBER,
  type UseRestrictions,
} from './event-record.ts'

/** The values that a null column stands for; `comment on column` in 0019-narrow-rows.sql. */
export const COLUMN_DEFAULTS = {
  event_class: 'conversion',
  action_source: 'website',
  consent_basis: 'consent',
  measurement_class: 'advertising',
  attribution_join: 'allowed',
  enforcement_scope: 'event',
  consent_normalization_version: '1',
} as const
export type DefaultedColumn = keyof typeof COLUMN_DEFAULTS

/**
 * The mark of identities that were stored before rows had one: those of Meta, then the only
 * platform. It is a constant, because the default platform of a registry may change.
 */
export const UNMARKED_IDENTITY = 'm'

/** Most consents contain the same time three times; it has its own column. */
export function encodeConsent({ consent, consentCapturedAt }: EventRecord): string | null {
  return consent && CONSENT_CODEC.encode(consent, quotedTime(consentCapturedAt))
}

export function decodeConsent(row: {
  consent: unknown
  consent_captured_at: Date | null
}): Record<string, unknown> | null {
  return toObject(CONSENT_CODEC.decode(row.consent, quotedTime(row.consent_captured_at)))
}

/** Reads the restrictions from the stored consent of an event. */
export function readRestrictions(consent: Record<string, unknown> | null): UseRestrictions {
  const stored = consent?.[RESTRICTIONS_MEMBER]
  return isObject(stored) ? (stored as UseRestrictions) : {}
}

/** Amount, currency and order have their own columns. */
export function encodeValueData(
  event: OrderColumns & Pick<EventRecord, 'valueData'>,
): string | null {
  const { valueData, valueAmount, valueCurrency, orderId } = event
  return (
    valueData && VALUE_CODEC.encode(valueData, orderHead({ valueAmount, valueCurrency, orderId }))
  )
}

export function decodeValueData(row: {
  value_data: unknown
  value_amount: string | null
  value_currency: string | null
  order_id: string | null
}): Record<string, unknown> | null {
  const { value_amount: valueAmount, value_currency: valueCurrency, order_id: orderId } = row
  const head = orderHead({ valueAmount, valueCurrency, orderId })
  return toObject(VALUE_CODEC.decode(row.value_data, head))
}

/** Digests as base64url, and 0 for a click ID that is also in the column of click IDs. */
export function encodeUserData({
  clickIds,
  platforms,
  details,
  platformNames,
  identityMark,
  lookup,
  ...identity
}: IdentityPayload): string {
  const encoded: EncodedUserData = encodePlatformIdentity(identity, clickIds)
  encoded.of = identityMark
  const others = encodeLookup(lookup, identity.digests)
  if (others) encoded.lookup = others
  if (details) encoded.details = details
  if (platformNames) encoded.names = platformNames
  if (platforms) {
    encoded.platforms = mapMembers(platforms, one =>
      encodePlatformIdentity(one, clickIds, identity),
    )
  }
  return USER_DATA_CODEC.encode(JSON.stringify(encoded))
}

/**
 * What another platform has in common with the first one is stored once: a digest as its place
 * there, and a plain value as 1.
 */
function encodePlatformIdentity(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string>,
  first?: PlatformIdentity,
): EncodedIdentity {
  const kept: Record<string, string | 0 | 1> = {}
  for (const [key, value] of Object.entries(plain)) {
    if (value === clickIds[key]) kept[key] = 0
    else kept[key] = value === first?.plain[key] ? 1 : value
  }
  const encode = (digest: string, key: string) => {
    const place = first?.digests[key]?.indexOf(digest) ?? -1
    return place === -1 ? encodeDigest(digest) : place
  }
  return { digests: recodeDigests(digests, encode), plain: kept }
}

export function encodeClickIds({ clickIds }: IdentityPayload): string {
  return CLICK_IDS_CODEC.encode(JSON.stringify(clickIds))
}

export function decodeIdentity(row: {
  user_data: unknown
  click_ids: unknown
}): Omit<IdentityPayload, 'visitorId' | 'pageUrl'> {
  const clickIds = CLICK_IDS_CODEC.decode(row.click_ids) as Record<string, string>
  const stored = USER_DATA_CODEC.decode(row.user_data) as EncodedUserData
  const { platforms, details, lookup, names, of = UNMARKED_IDENTITY, ...identity } = stored
  const own = decodePlatformIdentity(identity, clickIds)
  const decoded = {
    identityMark: of,
    ...own,
    clickIds,
    ...(details && { details }),
    ...(names && { platformNames: names }),
    ...(lookup && { lookup: decodeLookup(lookup, own.digests) }),
  }
  if (!platforms) return decoded
  const others = mapMembers(platforms, one => decodePlatformIdentity(one, clickIds, own))
  return { ...decoded, platforms: others }
}

function decodePlatformIdentity(
  { digests = {}, plain = {} }: EncodedIdentity,
  clickIds: Record<string, string>,
  first?: PlatformIdentity,
): PlatformIdentity {
  const decoded: Record<string, string> = {}
  for (const [key, value] of Object.entries(plain)) {
    if (value === 0) decoded[key] = clickIds[key] as string
    else decoded[key] = value === 1 ? (first?.plain[key] as string) : value
  }
  const decode = (digest: string | number, key: string) =>
    typeof digest === 'number' ? (first?.digests[key]?.[digest] as string) : decodeDigest(digest)
  return { digests: recodeDigests(digests, decode), plain: decoded }
}

/** The part of the identity by which a person is found. */
export function decodeDigests(userData: unknown): Pick<IdentityPayload, 'digests' | 'lookup'> {
  const { digests: encoded = {}, lookup } = USER_DATA_CODEC.decode(userData) as EncodedUserData
  const { digests } = decodePlatformIdentity({ digests: encoded }, {})
  return lookup ? { digests, lookup: decodeLookup(lookup, digests) } : { digests }
}

export function decodeOwnDigests(userData: unknown): Record<string, string[]> {
  const { digests = {} } = USER_DATA_CODEC.decode(userData) as EncodedUserData
  return recodeDigests(digests as Record<string, string[]>, decodeDigest)
}

interface EncodedIdentity {
  /** Numbers in that of another platform than the first. */
  digests?: Record<string, (string | number)[]>
  plain?: Record<string, string | 0 | 1>
}

/** Without `platforms` as long as the tracker has destinations of the default platform alone. */
interface EncodedUserData extends EncodedIdentity {
  /** The platform of `digests` and `plain`. Version 0.5 ignores it. */
  of?: string
  lookup?: EncodedLookup
  details?: EventDetails
  platforms?: Record<string, EncodedIdentity>
  /** The name sent to a destination, by its ID. Versions before 0045 ignore it. */
  names?: Record<string, string>
}

function mapMembers<From, To>(
  members: Record<string, From>,
  map: (member: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(members).map(([name, one]) => [name, map(one)]))
}

/** Query and fragment of the page URL; the rest is stored longer, with the event. */
export function encodePageUrl(page: string | undefined, eventSource: string | null): string | null {
  if (page === undefined) return null
  if (eventSource === null || !page.startsWith(eventSource)) return page
  const rest = page.slice(eventSource.length)
  return /^[?#]/.test(rest) ? rest : page
}

export function decodePageUrl(row: {
  page_url: string | null
  event_source: string | null
}): string | null {
  const { page_url: page, event_source: eventSource } = row
  if (page === null) return eventSource
  return /^[?#]/.test(page) ? `${eventSource}${page}` : page
}

function quotedTime(time: Date | null): string | null {
  return time && `"${time.toISOString()}"`
}

type OrderColumns = Pick<EventRecord, 'valueAmount' | 'valueCurrency' | 'orderId'>

/** Null when the numeric column may return the amount with different digits. */
function orderHead({ valueAmount, valueCurrency, orderId }: OrderColumns): string | null {
  if (valueAmount !== null && !/^(0|[1-9]\d*)(\.\d+)?$/.test(valueAmount)) return null
  const head = {
    value: valueAmount ?? undefined,
    currency: valueCurrency ?? undefined,
    order_id: orderId ?? undefined,
  }
  return JSON.stringify(head).slice(0, -1)
}

function toObject(value: unknown): Record<string, unknown> | null {
  return (value ?? null) as Record<string, unknown> | null
}

/**
 * Compresses the JSON of one column with a dictionary: phrases that most rows have in common become
 * two characters each, in a JSON string. The events of a caller differ only in their values, and
 * PostgreSQL never compresses rows smaller than 2 KB, regardless of `toast_tuple_target`
 * (docs/decisions/0025).
 *
 *     ~A to ~Z, ~a to ~z   a phrase, by its index in the dictionary
 *     ~0                   a text that follows from other columns of the row
 *     '                    a quote, which would need a backslash in a JSON string
 *     ~'  ~~               an apostrophe, a tilde
 *
 * Rows hold dictionary indexes, so phrases are only appended. An unused phrase does no harm.
 */
export class DictionaryCodec {
  readonly #codes: Map<string, string>
  readonly #phrases: Map<string, string>
  readonly #pattern: RegExp

  constructor(phrases: readonly string[]) {
    if (phrases.length > CODES.length) throw new Error('the dictionary has more phrases than codes')
    this.#codes = new Map([
      ...Object.entries(CHARACTER_CODES),
      ...phrases.map((phrase, index): [string, string] => [phrase, `~${CODES[index]}`]),
    ])
    this.#phrases = new Map([...this.#codes].map(([part, code]) => [code, part]))
    // The first match wins, so the longest phrase comes first.
    const parts = [...this.#codes.keys()].sort((a, b) => b.length - a.length)
    this.#pattern = new RegExp(parts.map(escapePattern).join('|'), 'g')
  }

  /** Takes the text of `JSON.stringify`. `given` follows from other columns of the row. */
  encode(text: string, given: string | null = null): string {
    const isShort = given === null || given.length <= GIVEN_CODE.length
    const marked = isShort ? text : text.replaceAll(given, GIVEN_MARK)
    const encoded = marked.replace(this.#pattern, part => this.#codes.get(part) as string)
    return `"${encoded.replaceAll('\\', '\\\\')}"`
  }

  /** Takes the parsed value of the column. A value that is not a string is from before 0.5.0. */
  decode(stored: unknown, given: string | null = null): unknown {
    if (typeof stored !== 'string') return stored
    const text = stored.replace(CODE_PATTERN, code => {
      const part = code === GIVEN_CODE ? given : this.#phrases.get(code)
      if (typeof part === 'string') return part
      throw new Error(`a stored column has the code ${code}, which this version does not know`)
    })
    return JSON.parse(text)
  }
}

const CODES = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Stands for `given` while phrases are replaced. JSON never contains it unescaped. */
const GIVEN_MARK = '\x01'
const GIVEN_CODE = '~0'
const CHARACTER_CODES = { '"': "'", "'": "~'", '~': '~~', [GIVEN_MARK]: GIVEN_CODE }
const CODE_PATTERN = /~.|'/g

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

const CONSENT_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.consent)
const VALUE_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.value)
const USER_DATA_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.userData)
const CLICK_IDS_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.clickIds)
