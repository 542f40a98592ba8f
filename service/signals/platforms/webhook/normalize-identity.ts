import type { FieldRules } from '../../identity/field-rules.ts'
import { COMMON_HASHED_RULES, normalizeUserData } from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'

/**
 * SHA-256 digests of three identifiers, in the normal forms in which the contract names a person: a
 * lower-case email address, a phone number as E.164 digits without its +, and the caller's own ID.
 * Nothing travels unhashed but click IDs.
 */
export function normalizeWebhookIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  const { digests, dropped } = normalizeUserData(submitted.userData, {
    rules: RULES,
    times: submitted,
  })
  return { digests, plain: {}, clickIds: submitted.clickIds, dropped }
}

const { em, ph, external_id } = COMMON_HASHED_RULES
const RULES: FieldRules = { hashed: { em, ph, external_id }, plain: {} }

/** The click IDs of the event; without any, those of the visitor's session, the most trusted. */
export function joinWebhookClicks({ own, seen }: SeenClickIds): Record<string, string> {
  return [own, ...seen].find(clicks => Object.keys(clicks).length > 0) ?? {}
}

export const MATCH_KEYS: readonly MatchKey[] = [
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 50 },
]
