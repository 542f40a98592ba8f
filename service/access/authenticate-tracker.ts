import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import { readBearerToken } from '../http/request-headers.ts'
import { TtlCache } from '../util/ttl-cache.ts'
import { findTrackerByKey, recordKeyUses, type TrackerIdentity, type UsedKey } from './store.ts'
import { hashTokenToBase64, parseTokenKind, type TokenKind } from './token-format.ts'

export type AuthenticateTracker = (authorization: string | undefined) => Promise<TrackerIdentity>

/**
 * Resolves `Authorization: Bearer <tracker secret>` to the tracker. Every other kind of credential,
 * a mistyped one and an unknown one get the same 401 (spec: Authentication, rules 1 and 2).
 */
export function createTrackerAuthenticator(
  database: Database,
  options: LastUseOptions,
): AuthenticateTracker {
  const trackerOf = createTokenCache('tracker_secret', {
    find: digest => findTrackerByKey(database, 'tracker_secret', digest),
    onUsed: createLastUseRecorder(database, options),
  })
  return authorization => trackerOf(readBearerToken(authorization))
}

/** A revoked key is refused at the latest after this long, in every process. */
export const KEY_CACHE_LIMITS = { ttlMilliseconds: 500, entriesMax: 10_000 }

interface TokenLookup<Identity extends { trackerId: string }> {
  find: (digest: Buffer) => Promise<Identity | null>
  onUsed: (key: UsedKey) => void
}

/**
 * Resolves tokens of one kind to whom they speak for. Every other kind of credential, a mistyped
 * one and an unknown one get the same 401 (spec: Authentication, rules 1 and 2).
 */
export function createTokenCache<Identity extends { trackerId: string }>(
  kind: TokenKind,
  { find, onUsed }: TokenLookup<Identity>,
): (token: string | null) => Promise<Identity> {
  const known = new TtlCache(async (text: string) => {
    const digest = Buffer.from(text, 'base64')
    const identity = await find(digest)
    return identity && { identity, digest }
  }, KEY_CACHE_LIMITS)

  return async token => {
    if (token === null) throw Refusal.unauthenticated()
    // By its digest, never by itself: nothing here keeps a credential that could be used.
    const digest = hashTokenToBase64(token)
    // What was found before has the right form: asking for it again takes 1.3 µs.
    if (!known.has(digest) && parseTokenKind(token) !== kind) throw Refusal.unauthenticated()
    const found = await known.get(digest)
    if (!found) throw Refusal.unauthenticated()
    onUsed({ trackerId: found.identity.trackerId, digest: found.digest })
    return found.identity
  }
}

const TOUCH_MILLISECONDS = 60_000
const KEYS_MAX = 10_000
const BATCH_KEYS_MAX = 1_000

export interface LastUseOptions {
  now: () => Date
  /** The time of last use is kept on the side; a failure there must not fail the request. */
  onTouchError: (error: unknown) => void
}

/**
 * Notes that a key was used, at most once a minute for each key. No request waits. One statement
 * is under way at a time, with all keys that came since: a thousand trackers that begin at once
 * must not take the connections of those whose requests wait.
 */
export function createLastUseRecorder(
  database: Database,
  { now, onTouchError }: LastUseOptions,
): (key: UsedKey) => void {
  const touched = new LRUCache<string, true>({
    max: KEYS_MAX,
    ttl: TOUCH_MILLISECONDS,
    ttlResolution: 0,
  })
  /** By key, since a statement may not write a row twice. */
  const due = new Map<string, UsedKey>()
  let isWriting = false
  const write = async () => {
    isWriting = true
    while (due.size > 0) {
      const batch = [...due].slice(0, BATCH_KEYS_MAX)
      for (const [text] of batch) due.delete(text)
      const keys = batch.map(([, key]) => key)
      await recordKeyUses(database, keys, now()).catch(onTouchError)
    }
    isWriting = false
  }
  return key => {
    const text = key.digest.toString('base64')
    if (touched.has(text)) return
    touched.set(text, true)
    due.set(text, key)
    if (!isWriting) write()
  }
}
