import { isObject } from '../../runtime/util/is-object.ts'
import type { PlatformIdentity } from '../identity/normalize-user-data.ts'
import {
  COLUMN_DICTIONARIES,
  DictionaryCodec,
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

const CONSENT_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.consent, { repeats: true })
const VALUE_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.value)
const USER_DATA_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.userData)
const CLICK_IDS_CODEC = new DictionaryCodec(COLUMN_DICTIONARIES.clickIds)
