import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import type { FieldRules } from '../../identity/field-rules.ts'
import { normalizePhone } from '../../identity/normalize-phone.ts'
import { normalizePostalCode } from '../../identity/normalize-postal-code.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  normalizeUserData,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'

/**
 * Normalizes and hashes identity by TikTok's rules. There is no city, state or country: TikTok
 * takes them in clear only, and nothing in clear is stored.
 */
export function normalizeTiktokIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  const { digests, plain, dropped } = normalizeUserData(submitted.userData, {
    rules: RULES,
    times: submitted,
  })
  return { digests, plain, clickIds: submitted.clickIds, dropped }
}

const { em, ph, fn, ln, external_id } = COMMON_HASHED_RULES

const RULES: FieldRules = {
  hashed: {
    em,
    ph: {
      ...ph,
      normalize: (prepared, { country }) => normalizeTiktokPhone(prepared, country),
      takesNoDigests: true,
    },
    fn,
    ln,
    zp: { normalize: normalizePostalCode, reason: DROP_REASONS.postalCode, acceptsNumbers: true },
    // TikTok's own template for server containers trims it and keeps its case.
    external_id: { ...external_id, keepsCase: true },
  },
  plain: COMMON_PLAIN_RULES,
}

/** "If the country code is 86, then do not include country code. Otherwise, ... with +". */
const CHINA = /^86(?=\d{5,})/

export function normalizeTiktokPhone(prepared: string, country: string | null): string | null {
  const digits = normalizePhone(prepared, country)
  if (digits === null) return null
  return CHINA.test(digits) ? digits.replace(CHINA, '') : `+${digits}`
}

/** What TikTok's links and its pixel leave in the browser. */
const CLICK_IDS = ['ttclid', 'ttp']

/** An event with IDs of its own does not get those of an earlier visit, each for itself. */
export function joinTiktokClick({ own, seen }: SeenClickIds): Record<string, string> {
  const found = CLICK_IDS.flatMap(name => {
    const value = [own, ...seen].find(clickIds => clickIds[name])?.[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found)
}

/** TikTok refuses no event for want of an identifier. It matches none without one of these. */
export function canMatchPerson(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string>,
): boolean {
  const hasPerson = ['em', 'ph', 'external_id'].some(key => (digests[key] ?? []).length > 0)
  const hasBrowser = CLICK_IDS.some(name => Boolean(plain[name] ?? clickIds[name]))
  return hasPerson || hasBrowser || Boolean(plain.client_ip_address && plain.client_user_agent)
}

/** The identifiers that TikTok matches, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  {
    key: 'ttclid',
    from: '`click_ids.ttclid`, or the whole address of the page as `event_source`',
    enoughPercent: 10,
  },
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  { key: 'ttp', from: '`click_ids.ttp`, the cookie `_ttp`', enoughPercent: 80 },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 80 },
]
