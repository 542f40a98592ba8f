import type { FieldRules } from '../../identity/field-rules.ts'
import { normalizePhone } from '../../identity/normalize-phone.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  OTHER_HASHED_RULES,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'
import { acceptIdentity, canMatchByAny, joinByName } from '../shared-identity.ts'

/**
 * Normalizes and hashes identity by TikTok's rules. There is no city, state or country: TikTok
 * takes them in clear only, and nothing in clear is stored.
 */
export function normalizeTiktokIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  return acceptIdentity(submitted, RULES)
}

const { em, ph, fn, ln } = COMMON_HASHED_RULES

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
    zp: OTHER_HASHED_RULES.zp,
    // TikTok's own template for server containers trims it and keeps its case.
    external_id: OTHER_HASHED_RULES.external_id,
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
const CLICK_IDS = { ttclid: 'ttclid', ttp: 'ttp' }
const CLICK_ID_NAMES = Object.keys(CLICK_IDS)

export function joinTiktokClick(seen: SeenClickIds): Record<string, string> {
  return joinByName(seen, CLICK_IDS)
}

/** TikTok refuses no event for want of an identifier. */
export function canMatchPerson(
  identity: PlatformIdentity,
  clickIds: Record<string, string>,
): boolean {
  return canMatchByAny(identity, clickIds, CLICK_ID_NAMES)
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
