import type { IdentityPayload, LedgerEntry } from './ledger-entry.ts'
import { PackedJson } from './packed-json.ts'
import { PHRASES } from './packed-phrases.ts'

/** What the columns say by null, as `comment on column` has it (0019-narrow-rows.sql). */
export const ORDINARY = {
  event_class: 'conversion',
  action_source: 'website',
  consent_basis: 'consent',
  measurement_class: 'advertising',
  attribution_join: 'allowed',
  enforcement_scope: 'event',
  consent_normalization_version: '1',
} as const
export type OrdinaryColumn = keyof typeof ORDINARY

/** The time that most consents name three times is a column of its own. */
export function packedConsent({ consent, consentCapturedAt }: LedgerEntry): string | null {
  return consent && CONSENT.pack(consent, quotedTime(consentCapturedAt))
}

export function consentOf(row: {
  consent: unknown
  consent_captured_at: Date | null
}): Record<string, unknown> | null {
  return objectOf(CONSENT.unpack(row.consent, quotedTime(row.consent_captured_at)))
}

/** Amount, currency and order are columns of their own. */
export function packedValue(entry: LedgerEntry): string | null {
  const { valueData, valueAmount, valueCurrency, orderId } = entry
  return valueData && VALUE.pack(valueData, orderHead({ valueAmount, valueCurrency, orderId }))
}

export function valueDataOf(row: {
  value_data: unknown
  value_amount: string | null
  value_currency: string | null
  order_id: string | null
}): Record<string, unknown> | null {
  const head = orderHead({
    valueAmount: row.value_amount,
    valueCurrency: row.value_currency,
    orderId: row.order_id,
  })
  return objectOf(VALUE.unpack(row.value_data, head))
}

/** Digests as base64url, and 0 for a click id that stands in the column of click ids too. */
export function packedUserData({ digests, plain, clickIds }: IdentityPayload): string {
  const kept: Record<string, string | 0> = {}
  for (const [key, value] of Object.entries(plain)) kept[key] = value === clickIds[key] ? 0 : value
  return USER_DATA.pack(JSON.stringify({ digests: recoded(digests, denseDigest), plain: kept }))
}

export function packedClickIds({ clickIds }: IdentityPayload): string {
  return CLICK_IDS.pack(JSON.stringify(clickIds))
}

export function identityOf(row: {
  user_data: unknown
  click_ids: unknown
}): Pick<IdentityPayload, 'digests' | 'plain' | 'clickIds'> {
  const clickIds = CLICK_IDS.unpack(row.click_ids) as Record<string, string>
  const userData = USER_DATA.unpack(row.user_data) as PackedUserData
  const plain: Record<string, string> = {}
  for (const [key, value] of Object.entries(userData.plain ?? {})) {
    plain[key] = value === 0 ? (clickIds[key] as string) : value
  }
  return { digests: recoded(userData.digests ?? {}, plainDigest), plain, clickIds }
}

export function digestsOf(userData: unknown): Record<string, string[]> {
  const { digests = {} } = USER_DATA.unpack(userData) as PackedUserData
  return recoded(digests, plainDigest)
}

interface PackedUserData {
  digests?: Record<string, string[]>
  plain?: Record<string, string | 0>
}

/** Query and fragment of the page: its address is kept longer, with the event. */
export function packedPage(page: string | undefined, address: string | null): string | null {
  if (page === undefined) return null
  return address !== null && page.startsWith(address) && /^[?#]/.test(page.slice(address.length))
    ? page.slice(address.length)
    : page
}

export function pageOf(row: {
  page_url: string | null
  event_source: string | null
}): string | null {
  const { page_url: page, event_source: address } = row
  if (page === null) return address
  return /^[?#]/.test(page) ? `${address}${page}` : page
}

const CONSENT = new PackedJson(PHRASES.consent)
const VALUE = new PackedJson(PHRASES.value)
const USER_DATA = new PackedJson(PHRASES.userData)
const CLICK_IDS = new PackedJson(PHRASES.clickIds)

function quotedTime(time: Date | null): string | null {
  return time && `"${time.toISOString()}"`
}

/** Null where the amount may be read with other digits than it was written with. */
function orderHead({
  valueAmount,
  valueCurrency,
  orderId,
}: Pick<LedgerEntry, 'valueAmount' | 'valueCurrency' | 'orderId'>): string | null {
  if (valueAmount !== null && !/^(0|[1-9]\d*)(\.\d+)?$/.test(valueAmount)) return null
  const head = {
    value: valueAmount ?? undefined,
    currency: valueCurrency ?? undefined,
    order_id: orderId ?? undefined,
  }
  return JSON.stringify(head).slice(0, -1)
}

function recoded(
  digests: Record<string, string[]>,
  recode: (digest: string) => string,
): Record<string, string[]> {
  const written: Record<string, string[]> = {}
  for (const [key, values] of Object.entries(digests)) written[key] = values.map(recode)
  return written
}

const HEX_DIGEST = /^[0-9a-f]{64}$/
const DENSE_DIGEST = /^[\w-]{43}$/

function denseDigest(digest: string): string {
  return HEX_DIGEST.test(digest) ? Buffer.from(digest, 'hex').toString('base64url') : digest
}

function plainDigest(digest: string): string {
  return DENSE_DIGEST.test(digest) ? Buffer.from(digest, 'base64url').toString('hex') : digest
}

function objectOf(value: unknown): Record<string, unknown> | null {
  return (value ?? null) as Record<string, unknown> | null
}
