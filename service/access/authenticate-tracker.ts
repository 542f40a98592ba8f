import { BriefCache } from '../db/brief-cache.ts'
import type { Database } from '../db/database.ts'
import { bearerToken } from '../http/bearer.ts'
import { Refusal } from '../http/refusal.ts'
import { findTrackerByKey, type TrackerIdentity, touchKey } from './store.ts'
import { tokenDigest, tokenKind } from './token-format.ts'

/** A revoked key is refused at the latest after this long, in every process. */
const CACHE = { lifeMilliseconds: 500, entriesMax: 10_000 }
const TOUCH_MILLISECONDS = 60_000

export type AuthenticateTracker = (authorization: string | undefined) => Promise<TrackerIdentity>

export interface AuthenticationOptions {
  now: () => Date
  /** The time of last use is kept on the side; a failure there must not fail the request. */
  onTouchError: (error: unknown) => void
}

/**
 * Resolves `Authorization: Bearer <tracker secret>` to the tracker. Every other kind of credential,
 * a mistyped one and an unknown one get the same 401 (spec: Authentication, rules 1 and 2).
 */
export function trackerAuthentication(
  database: Database,
  { now, onTouchError }: AuthenticationOptions,
): AuthenticateTracker {
  const touchedAt = new Map<string, number>()
  const trackers = new BriefCache(
    (digest: string) => findTrackerByKey(database, 'tracker_secret', Buffer.from(digest, 'base64')),
    CACHE,
  )

  return async authorization => {
    const token = bearerToken(authorization)
    if (token === null || tokenKind(token) !== 'tracker_secret') throw Refusal.unauthenticated()
    const digest = tokenDigest(token)
    const key = digest.toString('base64')
    const tracker = await trackers.get(key)
    if (!tracker) throw Refusal.unauthenticated()
    if (isDue(touchedAt, key)) touchKey(database, digest, now()).catch(onTouchError)
    return tracker
  }
}

function isDue(touchedAt: Map<string, number>, key: string): boolean {
  const moment = performance.now()
  const last = touchedAt.get(key)
  if (last !== undefined && moment - last < TOUCH_MILLISECONDS) return false
  if (touchedAt.size >= CACHE.entriesMax) touchedAt.clear()
  touchedAt.set(key, moment)
  return true
}
