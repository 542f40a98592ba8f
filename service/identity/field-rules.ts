import type { Reason } from './dropped.ts'
import { REASONS } from './dropped.ts'
import { looksLikeOtherHash } from './identifier-digest.ts'
import { normalizeBirthDate } from './normalize-birth-date.ts'
import { normalizeCountry } from './normalize-country.ts'
import { normalizeEmail } from './normalize-email.ts'
import { normalizePhone } from './normalize-phone.ts'

/** The keys of Meta's `user_data` whose values leave this service only as SHA-256 digests. */
export type HashedKey =
  | 'em'
  | 'ph'
  | 'fn'
  | 'ln'
  | 'ge'
  | 'db'
  | 'ct'
  | 'st'
  | 'zp'
  | 'country'
  | 'external_id'

export interface FieldRule {
  /** Turns prepared text into the exact text to hash, or null when it cannot be made right. */
  normalize: (prepared: string, country: string | null) => string | null
  reason: Reason
  /** These fields also take whole numbers; in the others a number is a mistake of the caller. */
  takesNumbers?: true
}

/**
 * Meta's written rules, one a field (Customer Information Parameters; the `doc_*` members of
 * vectors/meta-hash-vectors.json). Where Meta's libraries differ from its page, the page wins.
 */
export const FIELD_RULES: Record<HashedKey, FieldRule> = {
  em: { normalize: normalizeEmail, reason: REASONS.email },
  ph: { normalize: normalizePhone, reason: REASONS.phone, takesNumbers: true },
  fn: { normalize: normalizeName, reason: REASONS.name },
  ln: { normalize: normalizeName, reason: REASONS.name },
  ge: { normalize: normalizeGender, reason: REASONS.gender },
  db: { normalize: normalizeBirthDate, reason: REASONS.birthDate },
  ct: { normalize: normalizePlace, reason: REASONS.place },
  st: { normalize: normalizePlace, reason: REASONS.place },
  zp: { normalize: normalizePostalCode, reason: REASONS.postalCode, takesNumbers: true },
  country: { normalize: normalizeCountry, reason: REASONS.country },
  external_id: {
    normalize: normalizeExternalId,
    reason: REASONS.placeholder,
    takesNumbers: true,
  },
}

/** MD5 and its kin hide in every field except this one, where 32 hex digits are a fair id. */
export function isOtherHash(key: HashedKey, prepared: string): boolean {
  return key !== 'external_id' && looksLikeOtherHash(prepared)
}

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

const PLACEHOLDERS = new Set(['null', 'undefined', 'none', 'nan', 'n/a', '[object object]'])

/** A variable that was never filled would make one person out of everyone who shares the bug. */
function normalizeExternalId(prepared: string): string | null {
  return PLACEHOLDERS.has(prepared) ? null : prepared
}
