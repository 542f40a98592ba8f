import { hash } from 'node:crypto'
import { refuse } from '../http/rate-limit.ts'
import type { PeopleContext } from './people-context.ts'

/**
 * Counts one attempt at an account, also at one that does not exist, so that the limit tells nobody
 * which do. Throws a 429. The address is only kept as a digest.
 */
export function limitAccount({ limits }: Pick<PeopleContext, 'limits'>, email: string): void {
  const limit = limits.signInAccount
  if (!limit) return
  const { waitSeconds } = limit.limiter.take(hash('sha256', email, 'base64'))
  if (waitSeconds > 0) throw refuse(limit, waitSeconds)
}
