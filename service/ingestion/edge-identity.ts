import type { EdgeClient } from '../access/browser-caller.ts'
import type { FieldErrorList } from '../http/field-errors.ts'
import { type NormalizedIdentity, normalizeUserData } from '../identity/normalize-user-data.ts'
import { userDataKey } from '../identity/user-data-keys.ts'

const FROM_THE_EDGE = ['client_ip_address', 'client_user_agent']

/**
 * Browsers may not say who they are: whatever a page writes there anybody can write (spec: rules on
 * the consent and identity fields, 4). Every spelling counts; null says nothing.
 */
export function addEdgeFaults(faults: FieldErrorList, userData: unknown): void {
  if (typeof userData !== 'object' || userData === null || Array.isArray(userData)) return
  for (const [name, value] of Object.entries(userData)) {
    if (value === null) continue
    const meaning = userDataKey(name)
    if (meaning === null || !FROM_THE_EDGE.includes(meaning.key)) continue
    const field = `user_data.${name}`
    faults.add(
      field,
      `The ${field} field is not taken with a publishable key: the address and the user agent of ` +
        'the browser come from the trusted edge alone.',
    )
  }
}

/** What a trusted edge saw, by the same rules as what a caller with a secret may send. */
export function edgeIdentity(edge: EdgeClient | null): Omit<NormalizedIdentity, 'digests'> {
  if (edge === null) return { plain: {}, dropped: [] }
  const { plain, dropped } = normalizeUserData({
    client_ip_address: edge.ipAddress,
    client_user_agent: edge.userAgent,
  })
  const noted = dropped.map(({ field, reason }) => ({
    field: `${field.replace('user_data.', '')} (edge)`,
    reason,
  }))
  return { plain, dropped: noted }
}
