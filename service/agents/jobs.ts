import type { AuditTrail } from '../audit/audit-store.ts'
import type { Database } from '../runtime/db/database.ts'
import { type Job, repeatUntilDone } from '../runtime/jobs/job.ts'
import { hasExpired } from './approvals/action-preconditions.ts'
import { createSimulatedCampaignApi } from './campaigns/simulated-campaign-store.ts'
import { resumeExecutions } from './executor/execution-triggers.ts'
import { findExpiredActions } from './proposals/action-list-store.ts'
import { lockActions } from './proposals/action-store.ts'
import { transitionAction } from './proposals/transition-action.ts'

export interface AgentsJobsContext {
  database: Database
  audit: AuditTrail
}

/** The scheduled work of this room: interrupted executions, and approvals that expire. */
export function agentsJobs({ database, audit }: AgentsJobsContext): Job[] {
  return [
    {
      name: 'finish-agent-actions',
      schedule: '*/1 * * * *',
      timeoutSeconds: 50,
      run: repeatUntilDone(({ now }) =>
        resumeExecutions({
          database,
          now: () => now,
          audit,
          campaigns: createSimulatedCampaignApi(database),
        }),
      ),
    },
    {
      name: 'expire-approvals',
      schedule: '*/10 * * * *',
      timeoutSeconds: 300,
      run: repeatUntilDone(({ now }) => expireApprovals({ database, now, audit })),
    },
  ]
}

const ACTIONS_PER_RUN_MAX = 100

interface ExpireApprovalsContext {
  database: Database
  now: Date
  audit: AuditTrail
}

/**
 * Rejects pending actions whose approval period has ended. Each action has its own transaction, so
 * that no workspace waits for another. `more` is true if the limit of a run was reached.
 */
export async function expireApprovals(
  context: ExpireApprovalsContext,
): Promise<{ expired: number; more: boolean }> {
  const ids = await findExpiredActions(context.database, context.now, ACTIONS_PER_RUN_MAX)
  let expired = 0
  for (const id of ids) if (await expireAction(context, id)) expired += 1
  return { expired, more: ids.length === ACTIONS_PER_RUN_MAX }
}

/** False if the action was decided on in the meantime. */
function expireAction(
  { database, now, audit }: ExpireApprovalsContext,
  actionId: number,
): Promise<boolean> {
  return database.query.transaction().execute(async query => {
    const [action] = await lockActions({ query }, [actionId])
    if (action?.status !== 'pending' || !hasExpired(action, now)) return false
    await transitionAction({ query }, audit, {
      action,
      to: 'rejected',
      outcome: 'expired',
      at: now,
      actor: { type: 'system', id: null },
      auditAction: 'action.rejected',
    })
    return true
  })
}
