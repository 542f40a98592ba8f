import { hash } from 'node:crypto'
import type { AuditActor, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { generateToken, hashToken, type TokenKind } from '../../runtime/util/token-format.ts'
import { insertKey, listLiveDigests, listLiveKeys, revokeKey, type StoredKey } from './key-store.ts'
import { lockTracker, type TrackerIdentity } from './tracker-store.ts'

/** The kinds of key that belong to a tracker. */
export type KeyKind = Extract<TokenKind, 'tracker_secret' | 'publishable' | 'forwarding'>

/** A tracker may have two keys of a kind, so that it can rotate without downtime. */
export const LIVE_KEYS_MAX = 2

export interface KeyRequest extends TrackerIdentity {
  kind: KeyKind
  /** Publishable keys only: where the key may be used, as `normalizeOriginPattern` returns them. */
  origins?: readonly string[]
  issuedAt: Date
  /** The operator, unless a person does it. */
  actor?: AuditActor
}

/**
 * Issues a key and returns its only plain copy: the store keeps a digest. Throws a 422 refusal on
 * `kind` when the tracker has two live keys of the kind.
 */
export async function issueKey(context: AuditedContext, request: KeyRequest): Promise<string> {
  return commitAudited(context, async (transaction, record) => {
    const { token, entry } = await createKey(transaction, request)
    record(entry)
    return token
  })
}

interface CreatedKey {
  id: string
  /** The only plain copy. */
  token: string
  lastCharacters: string
  entry: AuditEntry
}

/** `issueKey` within a transaction of the caller, which appends the entry to the audit log. */
export async function createKey(
  transaction: Transaction,
  { trackerId, workspaceId, kind, origins = [], issuedAt, actor = OPERATOR }: KeyRequest,
): Promise<CreatedKey> {
  await lockTracker(transaction, trackerId)
  const live = await listLiveDigests(transaction, trackerId, kind)
  if (live.length >= LIVE_KEYS_MAX) {
    const reason = `the tracker has ${LIVE_KEYS_MAX} live keys of the kind ${kind}`
    throw Refusal.ofFields({ kind: [`Revoke a key first: ${reason}.`] })
  }
  const token = generateToken(kind)
  const digest = hashToken(token)
  const lastCharacters = token.slice(-LAST_CHARACTERS)
  await insertKey(transaction, {
    trackerId,
    kind,
    digest,
    lastCharacters,
    createdAt: issuedAt,
    origins,
  })
  const key = { trackerId, workspaceId, kind, digest, lastCharacters }
  const entry = createKeyAuditEntry(key, { action: 'key.issued', at: issuedAt, actor })
  return { id: toKeyId(digest), token, lastCharacters, entry }
}

/** By which people tell the keys of a tracker apart. */
const LAST_CHARACTERS = 4
const OPERATOR: AuditActor = { type: 'operator', id: null }

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
  context: AuditedContext,
  { trackerId, workspaceId, lastCharacters, kind, revokedAt }: KeySelector,
): Promise<number> {
  const live = await listLiveKeys(context.database, trackerId)
  const matches = live.filter(
    key => key.lastCharacters === lastCharacters && (kind === null || key.kind === kind),
  )
  const [match] = matches
  if (!match || matches.length > 1) return matches.length
  const isRevoked = await revokeTrackerKey(context, { trackerId, workspaceId, ...match }, revokedAt)
  return isRevoked ? 1 : 0
}

/**
 * Revokes a live key of a tracker and audits it; every process refuses the key within half a
 * second. False when it is already revoked.
 */
export async function revokeTrackerKey(
  context: AuditedContext,
  key: RevocableKey,
  revokedAt: Date,
): Promise<boolean> {
  return commitAudited(context, async (transaction, record) => {
    const entry = await endKey(transaction, key, { at: revokedAt, actor: OPERATOR })
    if (entry) record(entry)
    return entry !== null
  })
}

/**
 * `revokeTrackerKey` within a transaction of the caller, which appends the entry to the audit log.
 * Null when the key is already revoked.
 */
export async function endKey(
  transaction: Transaction,
  key: RevocableKey,
  { at, actor }: { at: Date; actor: AuditActor },
): Promise<AuditEntry | null> {
  const { trackerId, digest } = key
  const isRevoked = await revokeKey(transaction, { trackerId, digest, revokedAt: at })
  return isRevoked ? createKeyAuditEntry(key, { action: 'key.revoked', at, actor }) : null
}

/** A key with its tracker. */
type RevocableKey = TrackerIdentity & Pick<StoredKey, 'kind' | 'digest' | 'lastCharacters'>

/**
 * Names a key outside of the store, in the audit log and the dashboard. It is derived from the
 * digest because the digest of a forwarding secret signs requests: it must not leave the store.
 */
export function toKeyId(digest: Buffer): string {
  return hash('sha256', digest, 'hex').slice(0, KEY_ID_CHARACTERS)
}

/** 96 bits: no two keys of a tracker are alike. `KEY_ID` of key-store.ts computes the same. */
const KEY_ID_CHARACTERS = 24
const KEY_ID_PATTERN = /^[0-9a-f]{24}$/

export function isKeyId(text: string): boolean {
  return KEY_ID_PATTERN.test(text)
}

function createKeyAuditEntry(
  { workspaceId, trackerId, kind, digest, lastCharacters }: RevocableKey,
  change: Pick<AuditEntry, 'action' | 'at' | 'actor'>,
): AuditEntry {
  return {
    workspaceId,
    ...change,
    subject: { type: 'key', id: toKeyId(digest) },
    details: { tracker_id: trackerId, kind, last_characters: lastCharacters },
  }
}
