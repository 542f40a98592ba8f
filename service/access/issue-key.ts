import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import { keyEntry } from './key-entry.ts'
import { insertKey, listLiveKeys, type TrackerIdentity } from './store.ts'
import { newToken, type TokenKind, tokenDigest } from './token-format.ts'

/** The kinds of key that belong to a tracker and lie in the store. */
export type KeyKind = Extract<TokenKind, 'tracker_secret' | 'publishable' | 'forwarding'>

/** Two keys of a kind are valid while a tracker rotates from the old one to the new one. */
export const LIVE_KEYS_MAX = 2

export interface KeyRequest extends TrackerIdentity {
  kind: KeyKind
  /** Of a publishable key: where it may be used, as `originPattern` keeps them. */
  origins?: readonly string[]
  issuedAt: Date
}

/** Where keys lie, and where it is written down that one was issued or revoked. */
export interface KeyScope {
  database: Database
  audit: AuditTrail
}

/** Issues a key. The answer is the only time that it is seen: the store keeps a hash. */
export async function issueKey(
  { database, audit }: KeyScope,
  { trackerId, workspaceId, kind, origins = [], issuedAt }: KeyRequest,
): Promise<string> {
  const live = await listLiveKeys(database, trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    throw new Error(`the tracker has ${LIVE_KEYS_MAX} live keys of the kind ${kind}`)
  }
  const key = newToken(kind)
  const digest = tokenDigest(key)
  const lastCharacters = key.slice(-4)
  const named = { trackerId, workspaceId, kind, digest, lastCharacters }
  await database.query.transaction().execute(async query => {
    await insertKey(
      { query },
      { trackerId, kind, digest, lastCharacters, createdAt: issuedAt, origins },
    )
    await audit.append({ query }, keyEntry('key.issued', named, issuedAt))
  })
  return key
}
