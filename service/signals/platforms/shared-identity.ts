import type { FieldRules } from '../identity/field-rules.ts'
import { normalizeUserData, type PlatformIdentity } from '../identity/normalize-user-data.ts'
import type { AcceptedIdentity, SeenClickIds, SubmittedIdentity } from './platform.ts'

/** What the rules of a platform keep of a person, with the click IDs as they were sent. */
export function acceptIdentity(submitted: SubmittedIdentity, rules: FieldRules): AcceptedIdentity {
  const normalized = normalizeUserData(submitted.userData, { rules, times: submitted })
  return { ...normalized, clickIds: submitted.clickIds }
}

/**
 * The click and browser IDs that the platform takes, each for itself: an event with one of its own
 * does not get that of an earlier visit. `names` has the platform's name of each.
 */
export function joinByName(
  { own, seen }: SeenClickIds,
  names: Readonly<Record<string, string>>,
): Record<string, string> {
  const found = Object.entries(names).flatMap(([name, key]) => {
    const value = [own, ...seen].find(clickIds => clickIds[name])?.[name]
    return value === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(found)
}

/** Whether a field of the person has a digest. */
export function hasDigestOf({ digests }: PlatformIdentity, keys: readonly string[]): boolean {
  return keys.some(key => (digests[key] ?? []).length > 0)
}

/**
 * Whether a platform that refuses no event for want of an identifier can match it: by a person, by
 * one of its click and browser IDs, or by the address of the network and the user agent.
 */
export function canMatchByAny(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string>,
  names: readonly string[],
): boolean {
  const hasPerson = hasDigestOf({ digests, plain }, ['em', 'ph', 'external_id'])
  const hasBrowser = names.some(name => Boolean(plain[name] ?? clickIds[name]))
  return hasPerson || hasBrowser || Boolean(plain.client_ip_address && plain.client_user_agent)
}
