import type { Database } from '../db/database.ts'
import { bearerToken } from '../http/bearer.ts'
import { knownTokens } from './known-tokens.ts'
import { type LastUseOptions, lastUse } from './last-use.ts'
import { findTrackerByKey, type TrackerIdentity } from './store.ts'

export type AuthenticateTracker = (authorization: string | undefined) => Promise<TrackerIdentity>

/**
 * Resolves `Authorization: Bearer <tracker secret>` to the tracker. Every other kind of credential,
 * a mistyped one and an unknown one get the same 401 (spec: Authentication, rules 1 and 2).
 */
export function trackerAuthentication(
  database: Database,
  options: LastUseOptions,
): AuthenticateTracker {
  const trackerOf = knownTokens('tracker_secret', {
    find: digest => findTrackerByKey(database, 'tracker_secret', digest),
    onUsed: lastUse(database, options),
  })
  return authorization => trackerOf(bearerToken(authorization))
}
