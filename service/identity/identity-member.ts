import { membersMax } from './dropped.ts'
import { userDataKey } from './user-data-keys.ts'

/**
 * Names the first member of `user_data` that carries identity, as a dotted path, or null when
 * none does. Consent asks it ("is identity present?"), and so does the rule that an event on
 * legitimate interest carries no identity (decisions section 3).
 *
 * Every known key counts, the address and the user agent too, since both are personal data. A
 * value need not be valid: whoever sends a broken e-mail address meant to send a person. Null,
 * blank text and empty lists carry nothing, and unknown members are never kept, so they do not
 * count.
 */
export function identityMember(userData: unknown): string | null {
  if (typeof userData !== 'object' || userData === null || Array.isArray(userData)) return null
  for (const [name, value] of Object.entries(userData).slice(0, membersMax)) {
    if (carriesValue(value) && userDataKey(name) !== null) return `user_data.${name}`
  }
  return null
}

function carriesValue(value: unknown): boolean {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.some(
    one => typeof one === 'number' || (typeof one === 'string' && one.trim() !== ''),
  )
}
