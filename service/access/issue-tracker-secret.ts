import type { Database } from '../db/database.ts'
import { insertKey, listLiveKeys } from './store.ts'
import { newToken, tokenDigest } from './token-format.ts'

/** Two secrets are valid while a tracker rotates from the old one to the new one. */
const LIVE_SECRETS_MAX = 2

export interface SecretRequest {
  trackerId: string
  issuedAt: Date
}

/** Issues a tracker secret. The answer is the only time that it is seen: the store keeps a hash. */
export async function issueTrackerSecret(
  database: Database,
  { trackerId, issuedAt }: SecretRequest,
): Promise<string> {
  const live = await listLiveKeys(database, trackerId, 'tracker_secret')
  if (live.length >= LIVE_SECRETS_MAX) {
    throw new Error(`Tracker ${trackerId} has ${LIVE_SECRETS_MAX} live secrets; revoke one first.`)
  }
  const secret = newToken('tracker_secret')
  await insertKey(database, {
    trackerId,
    kind: 'tracker_secret',
    digest: tokenDigest(secret),
    lastCharacters: secret.slice(-4),
    createdAt: issuedAt,
  })
  return secret
}
