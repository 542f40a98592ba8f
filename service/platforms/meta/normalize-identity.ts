import { extractFbclid, isFbp } from '../../identity/click-ids.ts'
import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import {
  isPlaceholder,
  normalizeBirthDate,
  normalizeCountry,
  normalizeEmail,
} from '../../identity/identifier-formats.ts'
import { normalizePhone } from '../../identity/normalize-phone.ts'
import {
  type FieldRules,
  type HashedFieldRule,
  type NormalizedIdentity,
  normalizeUserData,
  type PlainFieldRule,
} from '../../identity/normalize-user-data.ts'
import { parsePublicAddress } from '../../identity/public-address.ts'
import type { HashedKey, PlainKey } from '../../identity/user-data-keys.ts'
import type { AcceptedIdentity, SubmittedIdentity } from '../platform.ts'
import { resolveClickCookies } from './click-cookies.ts'

/** Normalizes and hashes identity by Meta's rules. The result contains no raw identifier. */
export function normalizeMetaIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  const { digests, plain, dropped } = normalizeMetaUserData(submitted.userData)
  const { clickIds, fbc, fbp, ...cookies } = resolveClickCookies(submitted)
  if (fbc !== null) clickIds.fbc = fbc
  if (fbp !== null) clickIds.fbp = fbp
  return { digests, plain, clickIds, dropped: dropped.concat(cookies.dropped) }
}

export function normalizeMetaUserData(
  userData: Record<string, unknown> | undefined,
): NormalizedIdentity {
  return normalizeUserData(userData, RULES)
}

/**
 * Meta's written rules, one a field (Customer Information Parameters; the `doc_*` members of
 * vectors/meta-hash-vectors.json). Where Meta's libraries differ from its page, the page wins.
 */
export const HASHED_FIELD_RULES: Record<HashedKey, HashedFieldRule> = {
  em: { normalize: normalizeEmail, reason: DROP_REASONS.email },
  ph: { normalize: normalizePhone, reason: DROP_REASONS.phone, acceptsNumbers: true },
  fn: { normalize: normalizeName, reason: DROP_REASONS.name },
  ln: { normalize: normalizeName, reason: DROP_REASONS.name },
  ge: { normalize: normalizeGender, reason: DROP_REASONS.gender },
  db: { normalize: normalizeBirthDate, reason: DROP_REASONS.birthDate },
  ct: { normalize: normalizePlace, reason: DROP_REASONS.place },
  st: { normalize: normalizePlace, reason: DROP_REASONS.place },
  zp: { normalize: normalizePostalCode, reason: DROP_REASONS.postalCode, acceptsNumbers: true },
  country: { normalize: normalizeCountry, reason: DROP_REASONS.country },
  external_id: {
    normalize: normalizeExternalId,
    reason: DROP_REASONS.placeholder,
    acceptsNumbers: true,
    acceptsOtherHashes: true,
  },
}

const OPAQUE: PlainFieldRule = {
  normalize: acceptPattern(/^[\w.:~=-]{1,256}$/),
  reason: DROP_REASONS.opaque,
  acceptsNumbers: true,
}

/** 64-bit numbers of Meta: text all the way, since JavaScript would round them. */
const DIGITS: PlainFieldRule = {
  normalize: acceptPattern(/^\d{1,20}$/),
  reason: DROP_REASONS.digits,
  acceptsNumbers: true,
}

/**
 * What may travel unhashed (Customer Information Parameters, "do not hash"), one rule a field.
 * All of it belongs in the payload that expires.
 */
export const PLAIN_FIELD_RULES: Record<PlainKey, PlainFieldRule> = {
  client_ip_address: { normalize: parsePublicAddress, reason: DROP_REASONS.address },
  client_user_agent: { normalize: cleanUserAgent, reason: DROP_REASONS.empty },
  fbc: { normalize: acceptWhen(text => extractFbclid(text) !== null), reason: DROP_REASONS.fbc },
  fbp: { normalize: acceptWhen(isFbp), reason: DROP_REASONS.fbp },
  subscription_id: OPAQUE,
  fb_login_id: DIGITS,
  lead_id: DIGITS,
  anon_id: OPAQUE,
  madid: OPAQUE,
  page_id: DIGITS,
  page_scoped_user_id: DIGITS,
  ctwa_clid: OPAQUE,
  ig_account_id: DIGITS,
  ig_sid: OPAQUE,
}

const RULES: FieldRules = { hashed: HASHED_FIELD_RULES, plain: PLAIN_FIELD_RULES }

function normalizeName(prepared: string): string | null {
  const name = prepared.replace(/[^\p{L}\p{M}\p{N}]+/gu, '')
  return /\p{L}/u.test(name) ? name : null
}

function normalizeGender(prepared: string): string | null {
  const letters = prepared.replace(/[^a-z]+/g, '')
  if (letters === 'f' || letters === 'female') return 'f'
  if (letters === 'm' || letters === 'male') return 'm'
  return null
}

/** Digits go too: a city or state that carries some is followed by a postal code ("TX 75001"). */
function normalizePlace(prepared: string): string | null {
  const place = prepared.replace(/[^\p{L}\p{M}]+/gu, '')
  return /\p{L}/u.test(place) ? place : null
}

/** Only the United States has nine digits, so ZIP+4 is known even when the country is not. */
function normalizePostalCode(prepared: string, country: string | null): string | null {
  const code = prepared.replace(/[^\p{L}\p{N}]+/gu, '')
  if (code.length < 2) return null
  const isUnitedStates = country === 'us' || (country === null && /^\d{9}$/.test(code))
  return isUnitedStates ? code.slice(0, 5) : code
}

function normalizeExternalId(prepared: string): string | null {
  return isPlaceholder(prepared) ? null : prepared
}

function acceptWhen(holds: (text: string) => boolean): PlainFieldRule['normalize'] {
  return text => {
    const trimmed = text.trim()
    return holds(trimmed) ? trimmed : null
  }
}

function acceptPattern(pattern: RegExp): PlainFieldRule['normalize'] {
  return acceptWhen(text => pattern.test(text))
}

const USER_AGENT_CHARACTERS_MAX = 1_024
const USER_AGENT_INPUT_CHARACTERS_MAX = 8_192

/** Verbatim but for what a database or a header cannot carry: controls and broken surrogates. */
function cleanUserAgent(text: string): string | null {
  const readable = text
    .slice(0, USER_AGENT_INPUT_CHARACTERS_MAX)
    .replace(/\p{Cc}+/gu, '')
    .trim()
  const kept = readable.slice(0, USER_AGENT_CHARACTERS_MAX)
  // The cut may part a surrogate pair; half of one is no text.
  return kept.replace(/\p{Cs}+/gu, '') || null
}
