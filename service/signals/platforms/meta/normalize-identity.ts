import { isFbp } from '../../identity/click-ids.ts'
import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import type {
  EventTimes,
  FieldResult,
  FieldRules,
  HashedFieldRule,
  PlainFieldRule,
} from '../../identity/field-rules.ts'
import { removeInvisible } from '../../identity/identifier-formats.ts'
import {
  normalizeBirthDay,
  normalizeBirthMonth,
  normalizeBirthYear,
} from '../../identity/normalize-demographics.ts'
import {
  COMMON_HASHED_RULES,
  COMMON_PLAIN_RULES,
  type NormalizedIdentity,
  normalizeName,
  normalizeUserData,
  OTHER_HASHED_RULES,
} from '../../identity/normalize-user-data.ts'
import type { HashedKey, PlainKey } from '../../identity/user-data-keys.ts'
import type { AcceptedIdentity, SubmittedIdentity } from '../platform.ts'
import { checkFbc, findLatestClickTime, resolveClickCookies } from './click-cookies.ts'

/** Normalizes and hashes identity by Meta's rules. The result contains no raw identifier. */
export function normalizeMetaIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  const { digests, plain, dropped } = normalizeMetaUserData(submitted.userData, submitted)
  const { clickIds, fbc, fbp, ...cookies } = resolveClickCookies(submitted)
  if (fbc !== null) clickIds.fbc = fbc
  if (fbp !== null) clickIds.fbp = fbp
  return { digests, plain, clickIds, dropped: dropped.concat(cookies.dropped) }
}

export function normalizeMetaUserData(
  userData: Record<string, unknown> | undefined,
  times: EventTimes,
): NormalizedIdentity {
  return normalizeUserData(userData, { rules: RULES, times })
}

const { em, ph, fn, ln, ge, db, ct, country, external_id } = COMMON_HASHED_RULES

/**
 * Meta's written rules, one a field (Customer Information Parameters; the `doc_*` members of
 * vectors/meta-hash-vectors.json). Where Meta's libraries differ from its page, the page wins.
 * The page does not have `fi` and what follows it; these keys are in Meta's SDKs, and their rules
 * are those of the SDKs after the page's rule for the whole name or date.
 */
export const HASHED_FIELD_RULES: Record<HashedKey, HashedFieldRule> = {
  em,
  ph,
  fn,
  ln,
  ge,
  db,
  ct,
  st: OTHER_HASHED_RULES.st,
  zp: OTHER_HASHED_RULES.zp,
  country,
  external_id,
  fi: { normalize: cutName(1), reason: DROP_REASONS.name },
  f5first: { normalize: cutName(5), reason: DROP_REASONS.name },
  f5last: { normalize: cutName(5), reason: DROP_REASONS.name },
  doby: birthDatePart(normalizeBirthYear),
  dobm: birthDatePart(normalizeBirthMonth),
  dobd: birthDatePart(normalizeBirthDay),
  app_user_id: external_id,
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
  ...COMMON_PLAIN_RULES,
  fbc: { normalize: normalizeFbc, reason: DROP_REASONS.fbc },
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
  whatsapp_business_account_id: DIGITS,
}

const RULES: FieldRules = { hashed: HASHED_FIELD_RULES, plain: PLAIN_FIELD_RULES }

/** The first characters of a name, never half of a surrogate pair. */
function cutName(charactersMax: number): HashedFieldRule['normalize'] {
  return prepared => {
    const name = normalizeName(prepared)
    return name === null ? null : [...name].slice(0, charactersMax).join('')
  }
}

function birthDatePart(normalize: HashedFieldRule['normalize']): HashedFieldRule {
  return { normalize, reason: DROP_REASONS.birthDatePart, acceptsNumbers: true }
}

function normalizeFbc(text: string, times: EventTimes): FieldResult {
  const checked = checkFbc(removeInvisible(text).trim(), findLatestClickTime(times))
  return 'kept' in checked ? checked.kept : checked
}

function acceptWhen(holds: (text: string) => boolean): PlainFieldRule['normalize'] {
  return text => {
    const trimmed = removeInvisible(text).trim()
    return holds(trimmed) ? trimmed : null
  }
}

function acceptPattern(pattern: RegExp): PlainFieldRule['normalize'] {
  return acceptWhen(text => pattern.test(text))
}
