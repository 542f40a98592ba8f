import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Database } from '../../db/database.ts'
import { lockActions } from '../proposals/action-store.ts'
import { findExpiredActions } from '../proposals/open-action-store.ts'
import { transitionAction } from '../proposals/transition-action.ts'
import { hasExpired } from './action-preconditions.ts'

const ACTIONS_A_RUN_MAX = 100

export interface ExpireApprovalsContext {
  database: Database
  now: Date
  audit: AuditTrail
}

/**
 * Ends actions that nobody decided on in time. Each is a transaction of its own, so that no
 * workspace waits for another. `more`: as many as one call takes were there.
 */
export async function expireApprovals(
  expiry: ExpireApprovalsContext,
): Promise<{ expired: number; more: boolean }> {
  const ids = await findExpiredActions(expiry.database, expiry.now, ACTIONS_A_RUN_MAX)
  let expired = 0
  for (const id of ids) if (await expireAction(expiry, id)) expired += 1
  return { expired, more: ids.length === ACTIONS_A_RUN_MAX }
}

/** False: somebody decided on it meanwhile. */
function expireAction(
  { database, now, audit }: ExpireApprovalsContext,
  actionId: number,
): Promise<boolean> {
  return database.query.transaction().execute(async query => {
    const [action] = await lockActions({ query }, [actionId])
    if (action?.status !== 'pending' || !hasExpired(action, now)) return false
    await transitionAction({ query }, audit, {
      action,
      ...{ to: 'rejected', outcome: 'expired', at: now },
      actor: { type: 'system', id: null },
      audit: 'action.rejected',
    })
    return true
  })
}
