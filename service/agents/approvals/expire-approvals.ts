import type { Database } from '../../db/database.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import { lockActions } from '../proposals/action-store.ts'
import { moveAction } from '../proposals/move-action.ts'
import { hasExpired } from './approval-verdict.ts'
import { findExpired } from './expired-action-store.ts'

const ACTIONS_A_RUN_MAX = 100

export interface Expiry {
  database: Database
  now: Date
  audit: AuditTrail
}

/**
 * Ends actions that nobody decided on in time. Each is a transaction of its own, so that no
 * workspace waits for another. `more`: as many as one call takes were there.
 */
export async function expireApprovals(expiry: Expiry): Promise<{ expired: number; more: boolean }> {
  const ids = await findExpired(expiry.database, expiry.now, ACTIONS_A_RUN_MAX)
  let expired = 0
  for (const id of ids) if (await expireAction(expiry, id)) expired += 1
  return { expired, more: ids.length === ACTIONS_A_RUN_MAX }
}

/** False: somebody decided on it meanwhile. */
function expireAction({ database, now, audit }: Expiry, actionId: number): Promise<boolean> {
  return database.query.transaction().execute(async query => {
    const [action] = await lockActions({ query }, [actionId])
    if (action?.status !== 'pending' || !hasExpired(action, now)) return false
    await moveAction({ query }, audit, {
      action,
      ...{ to: 'rejected', outcome: 'expired', at: now },
      actor: { type: 'system', id: null },
      audit: 'action.rejected',
    })
    return true
  })
}
