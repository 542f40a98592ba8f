import { type AgentsJobsContext, agentsJobs } from '../../agents/jobs.ts'
import { verifyProposalRecords } from '../../agents/proposals/verify-records.ts'
import { type AuditJobsContext, auditJobs } from '../../audit/jobs.ts'
import type { Job } from '../../runtime/jobs/job.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { type SignalsJobsContext, signalsJobs } from '../../signals/jobs.ts'
import type { AlertAnnouncer } from '../../signals/reports/announce-alerts.ts'
import { type WorkspacesJobsContext, workspacesJobs } from '../../workspaces/jobs.ts'
import {
  type AuditAlertContext,
  createAuditAlerts,
} from '../../workspaces/notifications/audit-alert.ts'
import { raiseNotification } from '../../workspaces/notifications/notification-store.ts'
import { lockNotificationSettings } from '../../workspaces/notifications/settings-store.ts'

/** What the jobs of all rooms depend on. */
export interface JobDependencies
  extends Omit<SignalsJobsContext, 'announcer'>,
    AgentsJobsContext,
    WorkspacesJobsContext,
    Omit<AuditJobsContext, 'alerts' | 'verifyRecords'>,
    AuditAlertContext {
  settings: Settings
}

/** All jobs with their schedules. Minutes differ, so that jobs do not all start together. */
export function buildJobs(context: JobDependencies): Job[] {
  const alerts = createAuditAlerts(context)
  return [
    ...signalsJobs({ ...context, announcer: ALERT_ANNOUNCER }),
    ...agentsJobs(context),
    ...workspacesJobs(context),
    ...auditJobs({ ...context, alerts, verifyRecords: verifyProposalRecords }),
  ]
}

const ALERT_ANNOUNCER: AlertAnnouncer = {
  lock: lockNotificationSettings,
  raise: raiseNotification,
}
