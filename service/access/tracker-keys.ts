import type { AuditEntry } from '../audit/audit-entry.ts'
import type { AuditTrail } from '../audit/audit-store.ts'
import type { Database } from '../db/database.ts'
import {
  findLiveKeysByLastCharacters,
  insertKey,
  listLiveKeys,
  revokeKey,
  type TrackerIdentity,
} from './store.ts'
import { generateToken, hashToken, type TokenKind } from './token-format.ts'

/** The kinds of key that belong to a tracker. */
export type KeyKind = Extract<TokenKind, 'tracker_secret' | 'publishable' | 'forwarding'>

/** A tracker may have two keys of a kind, so that it can rotate without downtime. */
export const LIVE_KEYS_MAX = 2

export interface KeyRequest extends TrackerIdentity {
  kind: KeyKind
  /** Publishable keys only: where the key may be used, as `normalizeOriginPattern` returns them. */
  origins?: readonly string[]
  issuedAt: Date
}

export interface KeyContext {
  database: Database
  audit: AuditTrail
}

/** Issues a key and returns its only plain copy: the store keeps a digest. */
export async function issueKey(
  { database, audit }: KeyContext,
  { trackerId, workspaceId, kind, origins = [], issuedAt }: KeyRequest,
): Promise<string> {
  const live = await listLiveKeys(database, trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    throw new Error(`the tracker has ${LIVE_KEYS_MAX} live keys of the kind ${kind}`)
  }
  const token = generateToken(kind)
  const digest = hashToken(token)
  const lastCharacters = token.slice(-4)
  const key = { trackerId, workspaceId, kind, digest, lastCharacters }
  await database.query.transaction().execute(async query => {
    await insertKey(
      { query },
      { trackerId, kind, digest, lastCharacters, createdAt: issuedAt, origins },
    )
    await audit.append({ query }, createKeyAuditEntry('key.issued', key, issuedAt))
  })
  return token
}

interface KeySelector extends TrackerIdentity {
  /** The last four characters, which identify a key to people. */
  lastCharacters: string
  /** Null for any kind. */
  kind: KeyKind | null
  revokedAt: Date
}

/**
 * Revokes the live key of the tracker with these last characters; every process refuses it within
 * half a second. Returns the number of matching keys, and revokes only a single match.
 */
export async function revokeKeyByLastCharacters(
  context: KeyContext,
  { trackerId, workspaceId, lastCharacters, kind, revokedAt }: KeySelector,
): Promise<number> {
  const matches = await findLiveKeysByLastCharacters(context.database, {
    trackerId,
    lastCharacters,
    kind,
  })
  const [match] = matches
  if (!match || matches.length > 1) return matches.length
  const key = {
    trackerId,
    workspaceId,
    kind: match.kind,
    digest: match.key_digest,
    lastCharacters,
  }
  const isRevoked = await revokeTrackerKey(context, key, revokedAt)
  return isRevoked ? 1 : 0
}

/**
 * Revokes a live key of a tracker and audits it; every process refuses the key within half a
 * second. False when it is already revoked.
 */
export async function revokeTrackerKey(
  { database, audit }: KeyContext,
  key: StoredKey,
  revokedAt: Date,
): Promise<boolean> {
  const { trackerId, digest } = key
  return database.query.transaction().execute(async query => {
    const isRevoked = await revokeKey({ query }, { trackerId, digest, revokedAt })
    if (isRevoked) await audit.append({ query }, createKeyAuditEntry('key.revoked', key, revokedAt))
    return isRevoked
  })
}

interface StoredKey extends TrackerIdentity {
  kind: string
  digest: Buffer
  lastCharacters: string
}

/**
 * The audit entry of a key, which its digest identifies. Only the operator issues and revokes keys.
 */
function createKeyAuditEntry(
  action: 'key.issued' | 'key.revoked',
  { workspaceId, trackerId, kind, digest, lastCharacters }: StoredKey,
  at: Date,
): AuditEntry {
  return {
    workspaceId,
    at,
    actor: { type: 'operator', id: null },
    action,
    subject: { type: 'key', id: digest.toString('hex') },
    details: { tracker_id: trackerId, kind, last_characters: lastCharacters },
  }
}
