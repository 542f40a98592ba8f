import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import type { FieldContext, FieldRules } from '../../identity/field-rules.ts'
import { normalizePostalCode } from '../../identity/normalize-postal-code.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  normalizePlace,
  normalizeUserData,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import { findSubdivisionCode } from '../../identity/subdivisions.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'

/** Normalizes and hashes identity by Snap's rules. The result contains no raw identifier. */
export function normalizeSnapchatIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  const { digests, plain, dropped } = normalizeUserData(submitted.userData, {
    rules: RULES,
    times: submitted,
  })
  return { digests, plain, clickIds: submitted.clickIds, dropped }
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
    st: { normalize: normalizeState, reason: DROP_REASONS.place },
    zp: { normalize: normalizePostalCode, reason: DROP_REASONS.postalCode, acceptsNumbers: true },
    country,
    external_id,
  },
  plain: COMMON_PLAIN_RULES,
}

function normalizeState(prepared: string, { country: of }: FieldContext): string | null {
  const place = normalizePlace(prepared)
  return place === null ? null : (findSubdivisionCode(prepared, of) ?? place)
}

/** Where Snap takes each: the parameter of its links, and the cookie of its pixel. */
const CLICK_IDS = { ScCid: 'sc_click_id', scid: 'sc_cookie1' }

/** An event with an ID of its own does not get that of an earlier visit, each for itself. */
export function joinSnapchatClick({ own, seen }: SeenClickIds): Record<string, string> {
  const found = Object.entries(CLICK_IDS).flatMap(([name, key]) => {
    const value = [own, ...seen].find(clickIds => clickIds[name])?.[name]
    return value === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(found)
}

/** Snap refuses an event without one of these: "insufficient PII". A click ID is not enough. */
export function canMatchPerson({ digests, plain }: PlatformIdentity): boolean {
  const hasPerson = ['em', 'ph'].some(key => (digests[key] ?? []).length > 0)
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
