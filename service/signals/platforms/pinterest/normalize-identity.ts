import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import type { FieldContext, FieldRules } from '../../identity/field-rules.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  normalizePlace,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import { findSubdivisionCode } from '../../identity/subdivisions.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'
import { acceptIdentity, joinByName } from '../shared-identity.ts'

/** Normalizes and hashes identity by Pinterest's rules. The result contains no raw identifier. */
export function normalizePinterestIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  return acceptIdentity(submitted, RULES)
}

/**
 * Pinterest's written rules (ConversionEventsUserDataProperties of its OpenAPI). What the page
 * leaves open follows the other platforms, so that most digests are equal and stored once.
 */
const RULES: FieldRules = {
  hashed: {
    ...COMMON_HASHED_RULES,
    st: { normalize: normalizeState, reason: DROP_REASONS.place },
    zp: { normalize: normalizeZip, reason: DROP_REASONS.postalCode, acceptsNumbers: true },
  },
  plain: COMMON_PLAIN_RULES,
}

/** "A two-letter code": a name that is none of the country's is left out. */
function normalizeState(prepared: string, { country }: FieldContext): string | null {
  const place = normalizePlace(prepared)
  if (place === null) return null
  const code = findSubdivisionCode(prepared, country) ?? place
  return /^[a-z]{2}$/.test(code) ? code : null
}

const ZIP_COUNTRIES = new Set(['us', 'pr', 'gu', 'vi', 'as', 'mp', 'um', 'fm', 'mh', 'pw'])
const ZIP_DIGITS = 5

/** "Only digits": a code with letters, as in Canada, has no digest that Pinterest knows. */
function normalizeZip(prepared: string, { country }: FieldContext): string | null {
  const code = prepared.replace(/[^\p{L}\p{N}]+/gu, '')
  if (!/^\d{3,12}$/.test(code)) return null
  const isZip = country !== null && ZIP_COUNTRIES.has(country)
  if (!isZip) return country === null && code.length === 9 ? code.slice(0, ZIP_DIGITS) : code
  const zip = code.length > ZIP_DIGITS ? code.slice(0, -4) : code
  return zip.padStart(ZIP_DIGITS, '0').slice(0, ZIP_DIGITS)
}

/** The parameter of Pinterest's links; its script keeps it in the cookie `_epik`. */
const CLICK_IDS = { epik: 'click_id' }

export function joinPinterestClick(seen: SeenClickIds): Record<string, string> {
  return joinByName(seen, CLICK_IDS)
}

/** Pinterest refuses an event without an email address, unless address and user agent are there. */
export function canMatchPerson({ digests, plain }: PlatformIdentity): boolean {
  const hasEmail = (digests.em ?? []).length > 0
  return hasEmail || Boolean(plain.client_ip_address && plain.client_user_agent)
}

/** The identifiers that Pinterest matches, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  {
    key: 'click_id',
    from: '`click_ids.epik`, or the whole address of the page as `event_source`',
    enoughPercent: 10,
  },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
]
