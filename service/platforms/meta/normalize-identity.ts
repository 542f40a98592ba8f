import {
  type FieldRules,
  type NormalizedIdentity,
  normalizeUserData,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, SubmittedIdentity } from '../platform.ts'
import { resolveClickCookies } from './click-cookies.ts'
import { HASHED_FIELD_RULES, PLAIN_FIELD_RULES } from './field-rules.ts'

const RULES: FieldRules = { hashed: HASHED_FIELD_RULES, plain: PLAIN_FIELD_RULES }

/** Makes what Meta matches people by, at acceptance. Nothing raw is left in it. */
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
