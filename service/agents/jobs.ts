import type { AuditTrail } from '../audit/audit-store.ts'
import type { Database } from '../runtime/db/database.ts'
import { type Job, repeatUntilDone } from '../runtime/jobs/job.ts'
import { expireApprovals } from './approvals/expire-approvals.ts'
import { createSimulatedCampaignApi } from './campaigns/simulated-campaign-store.ts'
import { resumeExecutions } from './executor/execution-triggers.ts'

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
