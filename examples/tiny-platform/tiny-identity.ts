import { normalizeEmail, normalizeText } from '../../service/signals/identity/identifier-formats.ts'
import { hashIdentifier } from '../../service/signals/identity/normalize-user-data.ts'
import type {
  AcceptedIdentity,
  SubmittedIdentity,
} from '../../service/signals/platforms/platform.ts'

/** The tiny platform matches people by one digest: SHA-256 of `tiny:` and the email address. */
export function normalizeTinyIdentity({ userData, clickIds }: SubmittedIdentity): AcceptedIdentity {
  const email = userData?.em ?? userData?.email
  const address = typeof email === 'string' ? normalizeEmail(normalizeText(email)) : null
  const digests = address === null ? {} : { person: [hashIdentifier(`tiny:${address}`)] }
  return { digests: digests as Record<string, string[]>, plain: {}, clickIds, dropped: [] }
}
