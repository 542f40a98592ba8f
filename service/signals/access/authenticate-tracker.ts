import { LRUCache } from 'lru-cache'
import type { Database } from '../../runtime/db/database.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import { perNode } from '../../runtime/db/store-nodes.ts'
import { readBearerToken } from '../../runtime/http/headers.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { batchLoads, TtlCache } from '../../runtime/util/load-cache.ts'
import {
  hashTokenToBase64,
  parseTokenKind,
  type TokenKind,
} from '../../runtime/util/token-format.ts'
import { findLiveKeys, recordKeyUses, type UsedKey } from './key-store.ts'
import type { TrackerIdentity } from './tracker-store.ts'

export interface AuthenticateTracker {
  (authorization: string | undefined): Promise<TrackerIdentity>
  /** The tracker of a secret that this process looked up a moment ago. Null for any other. */
  findKnown?: (authorization: string | undefined) => TrackerIdentity | null
}

/**
 * Resolves `Authorization: Bearer <tracker secret>` to the tracker. Another kind of credential, a
 * mistyped one and an unknown one all get the same 401.
 */
export function createTrackerAuthenticator(
  database: Database,
  options: LastUseOptions,
): AuthenticateTracker {
  const findTracker = createTokenCache('tracker_secret', {
    findMany: digests => findLiveKeys(database, 'tracker_secret', digests),
    onUsed: createLastUseRecorder(options),
  })
  return Object.assign(
    (authorization: string | undefined) => findTracker.find(readBearerToken(authorization)),
    {
      findKnown: (authorization: string | undefined) =>
        findTracker.findKnown(readBearerToken(authorization)),
    },
  )
}

/** The TTL is the longest time for which a process still accepts a revoked key. */
export const KEY_CACHE_LIMITS = { ttlMilliseconds: 500, entriesMax: 10_000 }

interface TokenCache<Identity> {
  find(token: string | null): Promise<Identity>
  /** The identity that `find` would return without a new lookup; null for any other token. */
  findKnown(token: string | null): Identity | null
}

interface TokenLookup<Identity extends { trackerId: string }> {
  /** Null for a digest without a live key, in the order of the digests. */
  findMany: (digests: readonly Buffer[]) => Promise<readonly (Identity | null)[]>
  onUsed: (key: UsedKey) => void
}

/**
 * Resolves tokens of one kind to the identity they authenticate. Another kind of credential, a
 * mistyped one and an unknown one all get the same 401.
 */
export function createTokenCache<Identity extends { trackerId: string }>(
  kind: TokenKind,
  { findMany, onUsed }: TokenLookup<Identity>,
): TokenCache<Identity> {
  // Not by node: keys are a reference table, which the coordinator reads by itself.
  const loadToken = batchLoads(async keys => {
    const digests = keys.map(key => Buffer.from(key, 'base64'))
    const identities = await findMany(digests)
    return digests.map((digest, index) => {
      const identity = identities[index] ?? null
      return identity && { identity, digest }
    })
  })
  const tokens = new TtlCache(loadToken, KEY_CACHE_LIMITS)

  const find = async (token: string | null) => {
    if (token === null) throw Refusal.unauthenticated()
    // The cache is keyed by digest, so it holds no usable credential.
    const digest = hashTokenToBase64(token)
    // A cached token is well-formed; checking it again takes 1.3 µs.
    if (!tokens.has(digest) && parseTokenKind(token) !== kind) throw Refusal.unauthenticated()
    const found = await tokens.get(digest)
    if (!found) throw Refusal.unauthenticated()
    onUsed({ trackerId: found.identity.trackerId, digest: found.digest })
    return found.identity
  }
  const findKnown = (token: string | null) => {
    const found = token === null ? null : tokens.peekValue(hashTokenToBase64(token))
    if (!found) return null
    onUsed({ trackerId: found.identity.trackerId, digest: found.digest })
    return found.identity
  }
  return { find, findKnown }
}

const RECORD_INTERVAL_MILLISECONDS = 60_000
const KEYS_MAX = 10_000
const BATCH_KEYS_MAX = 1_000

export interface LastUseOptions {
  nodes: StoreNodes
  now: () => Date
  /** Recording the time of last use must not fail the request. */
  onTouchError: (error: unknown) => void
}

/**
 * Records when a key was last used, at most once a minute for each key. No request waits for it.
 * Each node runs one statement at a time, with all keys that are due: a thousand trackers that
 * start together must not take the connections that requests wait for.
 */
export function createLastUseRecorder(options: LastUseOptions): (key: UsedKey) => void {
  const { nodes, onTouchError } = options
  const recent = new LRUCache<string, true>({
    max: KEYS_MAX,
    ttl: RECORD_INTERVAL_MILLISECONDS,
    ttlResolution: 0,
  })
  const writerOf = perNode(node => createLastUseWriter(node, options))
  return key => {
    const digest = key.digest.toString('base64')
    if (recent.has(digest)) return
    recent.set(digest, true)
    nodes.findNode(key.trackerId).then(node => writerOf(node)(digest, key), onTouchError)
  }
}

/** Writes the uses of keys whose trackers are on this node. */
function createLastUseWriter(
  node: Database,
  { now, onTouchError }: LastUseOptions,
): (digest: string, key: UsedKey) => void {
  /** By digest, because a statement cannot write a row twice. */
  const due = new Map<string, UsedKey>()
  let isWriting = false
  const write = async () => {
    isWriting = true
    while (due.size > 0) {
      const batch = [...due].slice(0, BATCH_KEYS_MAX)
      for (const [digest] of batch) due.delete(digest)
      const keys = batch.map(([, key]) => key)
      await recordKeyUses(node, keys, now()).catch(onTouchError)
    }
    isWriting = false
  }
  return (digest, key) => {
    due.set(digest, key)
    if (!isWriting) write()
  }
}
