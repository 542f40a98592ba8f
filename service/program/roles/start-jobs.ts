import { type AgentsJobsContext, agentsJobs } from '../../agents/jobs.ts'
import { verifyProposalRecords } from '../../agents/proposals/verify-records.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { type AuditJobsContext, auditJobs } from '../../audit/jobs.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import { openDatabase } from '../../runtime/db/database.ts'
import { type Job, type JobName, type JobRun, parsePeriodSeconds } from '../../runtime/jobs/job.ts'
import { readJobStatistics } from '../../runtime/jobs/job-store.ts'
import { startJobWorker } from '../../runtime/jobs/worker.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { createWebhookClient } from '../../runtime/webhooks/client.ts'
import type { DeliveryContext } from '../../signals/delivery/delivery-context.ts'
import { type SignalsJobsContext, signalsJobs } from '../../signals/jobs.ts'
import type { AlertTransition } from '../../signals/reports/alert-store.ts'
import type { AlertAnnouncer } from '../../signals/reports/announce-alerts.ts'
import { type WorkspacesJobsContext, workspacesJobs } from '../../workspaces/jobs.ts'
import {
  createAuditAlerts,
  createWithdrawalAlerts,
  type WorkspaceAlertContext,
  type WorkspaceAlertTransition,
} from '../../workspaces/notifications/audit-alert-store.ts'
import { raiseNotification } from '../../workspaces/notifications/notification-store.ts'
import { lockNotificationSettings } from '../../workspaces/notifications/settings-store.ts'
import { registerAuditLogMetrics, registerJobMetrics } from '../metrics/database-metrics.ts'
import { registerAlertMetrics, registerNotificationMetrics } from '../metrics/delivery-metrics.ts'
import type { MetricsRegistry } from '../metrics/metrics-registry.ts'
import { createEmailTransport } from './email-transport.ts'
import type { Store } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { formatUrlHost } from './role.ts'

/**
 * Jobs that one process runs at the same time. Two, so that a long one does not block the others.
 */
const CONCURRENCY = 2
/** One that listens, and one for each job that is claimed or completed. */
const CONNECTIONS_MAX = 1 + CONCURRENCY

export interface RunningJobs {
  stop(): Promise<void>
}

/** Runs the jobs, unless SIGNALBOX_JOBS is off. They use the database pool of the role. */
export function startJobs(
  context: RoleContext,
  store: Store,
  { registry, delivery }: { registry: MetricsRegistry; delivery: DeliveryContext },
): RunningJobs {
  const { settings, logger, now } = context
  if (!settings.areJobsOn) return { stop: async () => {} }
  const auditKeys = deriveAuditKeys(delivery.credentialKeys)
  const jobs = buildJobs({
    settings,
    database: store.database,
    credentialKeys: delivery.credentialKeys,
    delivery,
    ...createAlertHandlers(context, registry),
    auditKeys,
    audit: createAuditTrail(auditKeys, logger),
    ...createAuditHandlers(context),
    onVerifiedLogs: registerAuditLogMetrics(registry),
    notifications: createNotificationSenders(context, registry),
  })
  const meter = registerJobMetrics(registry, {
    names: jobs.map(({ name }) => name),
    periodSeconds: collectPeriods(jobs),
    read: () => readJobStatistics(store.database, [...collectPeriods(jobs).keys()]),
  })
  const database = openDatabase({
    connectionString: store.connectionString,
    connectionsMax: CONNECTIONS_MAX,
    applicationName: 'signalbox jobs',
    onIdleError: err => logger.warn({ err }, 'a database connection of the jobs failed'),
  })
  const worker = startJobWorker({
    database,
    jobs,
    now,
    concurrency: CONCURRENCY,
    onError: err => {
      meter.onError()
      logger.error({ err }, 'the job worker failed; it continues')
    },
    onDone: run => {
      meter.onDone(run)
      logJobRun(context, run)
    },
  })
  return {
    stop: async () => {
      await worker.stop()
      await database.close()
    },
  }
}

function createAlertHandlers(
  { logger }: RoleContext,
  registry: MetricsRegistry,
): Pick<JobDependencies, 'onAlert' | 'onWorkspaceAlert'> {
  const count = registerAlertMetrics(registry)
  const onAlert = (alert: AlertTransition | WorkspaceAlertTransition) => {
    if (alert.transition === 'raised') count(alert.kind)
    logger.warn(
      alert,
      alert.transition === 'raised' ? 'an alert is raised' : 'an alert is resolved',
    )
  }
  return { onAlert, onWorkspaceAlert: onAlert }
}

function createAuditHandlers({
  logger,
}: RoleContext): Pick<JobDependencies, 'onTamperedLog' | 'onCheckpointError'> {
  return {
    onTamperedLog: ({ workspaceId, broken_at: sequence, finding }) =>
      logger.error({ workspace: workspaceId, sequence, finding }, 'an audit log was changed'),
    onCheckpointError: err =>
      logger.warn({ err }, 'the heads of the audit logs were not written to the data folder'),
  }
}

/** Links in emails need an origin: without the setting, that of a service on this host. */
function createNotificationSenders(
  context: RoleContext,
  registry: MetricsRegistry,
): JobDependencies['notifications'] {
  const count = registerNotificationMetrics(registry)
  const { settings, logger, now } = context
  const { host, port, publicOrigin = `http://${formatUrlHost(host)}:${port}` } = settings
  return {
    now,
    publicOrigin,
    sendEmail: createEmailTransport(context),
    postWebhook: createWebhookClient(),
    onFailure: ({ workspaceId: workspace, channel, code }) => {
      count(channel)
      logger.error({ workspace, channel, code }, 'a notification was not sent')
    },
  }
}

/** Without the payload, which may hold personal data. */
function logJobRun({ logger }: RoleContext, { name, outcome, seconds, error: err }: JobRun): void {
  switch (outcome) {
    case 'succeeded':
      logger.debug({ task: name, seconds }, 'a job succeeded')
      break
    case 'failed':
      logger.error({ task: name, seconds, err }, 'a job failed; it is retried')
      break
    case 'interrupted':
      logger.info({ task: name, seconds }, 'a job is postponed: the process shuts down')
      break
  }
}

function collectPeriods(jobs: readonly Job[]): Map<JobName, number> {
  const periods = new Map<JobName, number>()
  for (const { name, schedule } of jobs) {
    if (schedule !== null) periods.set(name, parsePeriodSeconds(schedule))
  }
  return periods
}

/** What the jobs of all rooms depend on. */
export interface JobDependencies
  extends Omit<SignalsJobsContext, 'announcer' | 'withdrawalAlerts'>,
    AgentsJobsContext,
    WorkspacesJobsContext,
    Omit<AuditJobsContext, 'alerts' | 'verifyRecords'>,
    WorkspaceAlertContext {
  settings: Settings
}

/** All jobs with their schedules. Minutes differ, so that jobs do not all start together. */
export function buildJobs(context: JobDependencies): Job[] {
  const alerts = createAuditAlerts(context)
  return [
    ...signalsJobs({
      ...context,
      announcer: ALERT_ANNOUNCER,
      withdrawalAlerts: createWithdrawalAlerts(context),
    }),
    ...agentsJobs(context),
    ...workspacesJobs(context),
    ...auditJobs({ ...context, alerts, verifyRecords: verifyProposalRecords }),
  ]
}

const ALERT_ANNOUNCER: AlertAnnouncer = {
  lock: lockNotificationSettings,
  raise: raiseNotification,
}
