import type { FieldRules } from '../../identity/field-rules.ts'
import { normalizePhone } from '../../identity/normalize-phone.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'
import { acceptIdentity, canMatchByAny, joinByName } from '../shared-identity.ts'

/**
 * Normalizes and hashes identity by OpenAI's rules. There is no country, region, city or postal
 * code: OpenAI takes them in clear only, and nothing in clear is stored.
 */
export function normalizeOpenaiIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  return acceptIdentity(submitted, RULES)
}

const { em, ph, fn, ln, external_id } = COMMON_HASHED_RULES
/** Callers digest names by other rules, which differ where a name has a sign. */
const ofName = { normalize: normalizeOpenaiName, takesNoDigests: true } as const

const RULES: FieldRules = {
  hashed: {
    em,
    ph: {
      ...ph,
      normalize: (prepared, { country }) => normalizeOpenaiPhone(prepared, country),
    },
    fn: { ...fn, ...ofName },
    ln: { ...ln, ...ofName },
    // "Trim": the case and the spaces inside are a part of it.
    external_id: { ...external_id, normalize: given => given || null, keepsCase: true },
  },
  plain: COMMON_PLAIN_RULES,
}

const PHONE_DIGITS_MIN = 8

/** "8-15 digits" with the country code: more than 15 are no phone number anywhere. */
export function normalizeOpenaiPhone(prepared: string, country: string | null): string | null {
  const digits = normalizePhone(prepared, country)
  return digits !== null && digits.length >= PHONE_DIGITS_MIN ? digits : null
}

const SPACE_OR_ASCII_PUNCTUATION = /[\s!-/:-@[-`{-~]+/gu

/** Accents stay, and so does all punctuation that is not ASCII. */
export function normalizeOpenaiName(prepared: string): string | null {
  return prepared.replace(SPACE_OR_ASCII_PUNCTUATION, '') || null
}

/** What OpenAI's links and its pixel leave in the browser: one never stands for the other. */
const CLICK_IDS = { oppref: 'oppref', obref: 'obref' }
const CLICK_ID_NAMES = Object.keys(CLICK_IDS)

export function joinOpenaiClick(seen: SeenClickIds): Record<string, string> {
  return joinByName(seen, CLICK_IDS)
}

/** OpenAI refuses no event for want of an identifier. */
export function canMatchPerson(
  identity: PlatformIdentity,
  clickIds: Record<string, string>,
): boolean {
  return canMatchByAny(identity, clickIds, CLICK_ID_NAMES)
}

/** The identifiers that OpenAI matches, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  {
    key: 'oppref',
    from: '`click_ids.oppref`, or the whole address of the page as `event_source`',
    enoughPercent: 10,
  },
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'obref', from: '`click_ids.obref`, the cookie `__obref`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 80 },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
]
