import type { Database } from '../db/database.ts'
import { insertKey, listLiveKeys } from './store.ts'
import { newToken, type TokenKind, tokenDigest } from './token-format.ts'

/** The kinds of key that belong to a tracker and lie in the store. */
export type KeyKind = Extract<TokenKind, 'tracker_secret' | 'publishable' | 'forwarding'>

/** Two keys of a kind are valid while a tracker rotates from the old one to the new one. */
export const LIVE_KEYS_MAX = 2

export interface KeyRequest {
  trackerId: string
  kind: KeyKind
  /** Of a publishable key: where it may be used, as `originPattern` keeps them. */
  origins?: readonly string[]
  issuedAt: Date
}

/** Issues a key. The answer is the only time that it is seen: the store keeps a hash. */
export async function issueKey(
  database: Database,
  { trackerId, kind, origins = [], issuedAt }: KeyRequest,
): Promise<string> {
  const live = await listLiveKeys(database, trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    throw new Error(`the tracker has ${LIVE_KEYS_MAX} live keys of the kind ${kind}`)
  }
  const key = newToken(kind)
  await insertKey(database, {
    trackerId,
    kind,
    digest: tokenDigest(key),
    lastCharacters: key.slice(-4),
    createdAt: issuedAt,
    origins,
  })
  return key
}
