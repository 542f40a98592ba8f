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

/** The kinds of key that belong to a tracker and lie in the store. */
export type KeyKind = Extract<TokenKind, 'tracker_secret' | 'publishable' | 'forwarding'>

/** Two keys of a kind are valid while a tracker rotates from the old one to the new one. */
export const LIVE_KEYS_MAX = 2

export interface KeyRequest extends TrackerIdentity {
  kind: KeyKind
  /** Of a publishable key: where it may be used, as `normalizeOriginPattern` keeps them. */
  origins?: readonly string[]
  issuedAt: Date
}

/** Where keys lie, and where it is written down that one was issued or revoked. */
export interface KeyContext {
  database: Database
  audit: AuditTrail
}

/** Issues a key. The answer is the only time that it is seen: the store keeps a hash. */
export async function issueKey(
  { database, audit }: KeyContext,
  { trackerId, workspaceId, kind, origins = [], issuedAt }: KeyRequest,
): Promise<string> {
  const live = await listLiveKeys(database, trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    throw new Error(`the tracker has ${LIVE_KEYS_MAX} live keys of the kind ${kind}`)
  }
  const key = generateToken(kind)
  const digest = hashToken(key)
  const lastCharacters = key.slice(-4)
  const named = { trackerId, workspaceId, kind, digest, lastCharacters }
  await database.query.transaction().execute(async query => {
    await insertKey(
      { query },
      { trackerId, kind, digest, lastCharacters, createdAt: issuedAt, origins },
    )
    await audit.append({ query }, createKeyAuditEntry('key.issued', named, issuedAt))
  })
  return key
}

interface KeySelector extends TrackerIdentity {
  /** The last four characters, by which people tell keys apart. */
  lastCharacters: string
  /** Null: whichever kind ends so. */
  kind: KeyKind | null
  revokedAt: Date
}

/**
 * Revokes the one live key of the tracker that ends so; every process refuses it within half a
 * second. Returns how many keys end so: only of exactly one it is revoked.
 */
export async function revokeKeyByLastCharacters(
  scope: KeyContext,
  { trackerId, workspaceId, lastCharacters, kind, revokedAt }: KeySelector,
): Promise<number> {
  const found = await findLiveKeysByLastCharacters(scope.database, {
    trackerId,
    lastCharacters,
    kind,
  })
  const [key] = found
  if (!key || found.length > 1) return found.length
  const { key_digest: digest, kind: itsKind } = key
  const named = { trackerId, workspaceId, kind: itsKind, digest, lastCharacters }
  const isRevoked = await revokeTrackerKey(scope, named, revokedAt)
  return isRevoked ? 1 : 0
}

/**
 * Revokes a live key of a tracker, and writes it down; every process refuses it within half a
 * second. False when somebody has revoked it meanwhile.
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

/** One key of a tracker, as the store has it. */
interface StoredKey extends TrackerIdentity {
  kind: string
  digest: Buffer
  /** By which people tell keys apart. */
  lastCharacters: string
}

/**
 * What is written down of a key: its digest, which names it among all. Only who runs the program
 * issues and revokes keys.
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
