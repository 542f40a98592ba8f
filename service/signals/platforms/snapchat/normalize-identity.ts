import type { FieldRules } from '../../identity/field-rules.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  OTHER_HASHED_RULES,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'
import { acceptIdentity, hasDigestOf, joinByName } from '../shared-identity.ts'

/** Normalizes and hashes identity by Snap's rules. The result contains no raw identifier. */
export function normalizeSnapchatIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  return acceptIdentity(submitted, RULES)
}

const { em, ph, fn, ln, ge, ct, country, external_id } = COMMON_HASHED_RULES

/** The members of Snap's library that are hashed. It has no date of birth. */
const RULES: FieldRules = {
  hashed: {
    em,
    ph,
    fn,
    ln,
    ge,
    ct,
    st: OTHER_HASHED_RULES.st,
    zp: OTHER_HASHED_RULES.zp,
    country,
    external_id,
  },
  plain: COMMON_PLAIN_RULES,
}

/** Where Snap takes each: the parameter of its links, and the cookie of its pixel. */
const CLICK_IDS = { ScCid: 'sc_click_id', scid: 'sc_cookie1' }

export function joinSnapchatClick(seen: SeenClickIds): Record<string, string> {
  return joinByName(seen, CLICK_IDS)
}

/** Snap refuses an event without one of these: "insufficient PII". A click ID is not enough. */
export function canMatchPerson({ digests, plain }: PlatformIdentity): boolean {
  const hasPerson = hasDigestOf({ digests, plain }, ['em', 'ph'])
  return hasPerson || Boolean(plain.client_ip_address && plain.client_user_agent)
}

/** The identifiers that Snap matches, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  {
    key: 'sc_click_id',
    from: '`click_ids.ScCid`, or the whole address of the page as `event_source`',
    enoughPercent: 10,
  },
  { key: 'sc_cookie1', from: '`click_ids.scid`, the cookie `_scid`', enoughPercent: 80 },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
]
