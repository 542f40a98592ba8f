import { expireApprovals } from '../../agents/approvals/expire-approvals.ts'
import { createSimulatedCampaignApi } from '../../agents/campaigns/simulated-campaign-store.ts'
import { resumeExecutions } from '../../agents/executor/execution-triggers.ts'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Job, JobContext, JobPayload } from '../../runtime/jobs/job.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import type { DeliveryContext } from '../../signals/delivery/delivery-context.ts'
import { indexListPositions } from '../../signals/events/list-position-store.ts'
import type { AlertTransition } from '../../signals/reports/alert-store.ts'
import { type AlertAnnouncer, announceAlerts } from '../../signals/reports/announce-alerts.ts'
import { makeDueReports, refreshReports } from '../../signals/reports/make-reports.ts'
import { takeDueSnapshots } from '../../signals/reports/take-snapshots.ts'
import { expireAttempts } from '../../signals/retention/expire-attempts.ts'
import { expireCounts } from '../../signals/retention/expire-counts.ts'
import { expireOldEvents } from '../../signals/retention/expire-events.ts'
import { expirePayloads } from '../../signals/retention/expire-payloads.ts'
import { composeDigests } from '../../workspaces/notifications/compose-digests.ts'
import { deleteOldMessages } from '../../workspaces/notifications/message-store.ts'
import { raiseNotification } from '../../workspaces/notifications/notification-store.ts'
import { type SendContext, sendMessages } from '../../workspaces/notifications/send-messages.ts'
import { lockNotificationSettings } from '../../workspaces/notifications/settings-store.ts'
import { deleteExpiredOauthRecords } from '../../workspaces/oauth/artifact-store.ts'
import { deleteSecurityEventsBefore } from '../../workspaces/users/security-event-store.ts'
import { deleteExpiredUserRecords } from '../../workspaces/users/session-store.ts'
import { type AuditJobDependencies, buildAuditJobs } from './audit-jobs.ts'

export interface JobDependencies extends AuditJobDependencies {
  settings: Settings
  delivery: DeliveryContext
  preparePartitions: () => Promise<void>
  onAlert: (transition: AlertTransition) => void
  audit: AuditTrail
  notifications: Pick<SendContext, 'now' | 'sendEmail' | 'postWebhook' | 'onFailure'> & {
    publicOrigin: string
  }
}

const REPEATS_MAX = 100

/** All jobs with their schedules. Minutes differ, so that jobs do not all start together. */
export function buildJobs(parts: JobDependencies): Job[] {
  return [
    {
      name: 'prepare-partitions',
      schedule: '7 * * * *',
      timeoutSeconds: 60,
      run: parts.preparePartitions,
    },
    {
      name: 'index-lists',
      schedule: '52 * * * *',
      timeoutSeconds: 600,
      run: (_, { signal }) => indexListPositions({ database: parts.delivery.database, signal }),
    },
    ...reportJobs(parts),
    ...expiryJobs(parts),
    ...agentJobs(parts),
    notificationJob(parts),
    ...buildAuditJobs({
      ...parts,
      database: parts.delivery.database,
      dataDirectory: parts.settings.dataDirectory,
    }),
    {
      name: 'collect-ended-access',
      schedule: '50 3 * * *',
      timeoutSeconds: 600,
      run: async (payload, context) => {
        const { database } = parts.delivery
        await deleteExpiredUserRecords(database, context.now)
        const kept = parts.settings.securityEventRetentionDays * DAY_MILLISECONDS
        await deleteSecurityEventsBefore(database, new Date(context.now.getTime() - kept))
        await deleteExpiredOauthRecords(database, context.now)
        await repeatUntilDone(({ now }) => deleteOldMessages(database, now))(payload, context)
      },
    },
  ]
}

function reportJobs({ delivery, onAlert }: JobDependencies): Job[] {
  const context = { ...delivery, onAlert }
  return [
    {
      name: 'make-due-reports',
      schedule: '*/15 * * * *',
      timeoutSeconds: 600,
      run: repeatUntilDone(moment => makeDueReports(context, moment)),
    },
    {
      name: 'refresh-report',
      schedule: null,
      timeoutSeconds: 120,
      run: async payload => void (await refreshReports(context, parseReportPayload(payload))),
    },
    {
      name: 'take-due-snapshots',
      schedule: '22 * * * *',
      timeoutSeconds: 600,
      run: repeatUntilDone(moment => takeDueSnapshots(context, moment)),
    },
    {
      name: 'announce-alerts',
      schedule: '*/1 * * * *',
      timeoutSeconds: 50,
      run: repeatUntilDone(moment =>
        announceAlerts({ ...delivery, announcer: ALERT_ANNOUNCER }, moment),
      ),
    },
  ]
}

function expiryJobs({ settings, delivery: { database } }: JobDependencies): Job[] {
  const { payloadRetentionDays, ledgerRetentionMonths, attemptRetentionDays } = settings
  return [
    {
      name: 'expire-payloads',
      schedule: '37 * * * *',
      timeoutSeconds: 600,
      run: repeatUntilDone(({ now }) =>
        expirePayloads({ database, now, payloadDays: payloadRetentionDays }),
      ),
    },
    {
      name: 'expire-ledger',
      schedule: '10 3 * * *',
      timeoutSeconds: 3_600,
      run: repeatUntilDone(({ now }) =>
        expireOldEvents({ database, now, ledgerMonths: ledgerRetentionMonths }),
      ),
    },
    {
      name: 'expire-attempts',
      schedule: '40 3 * * *',
      timeoutSeconds: 3_600,
      run: repeatUntilDone(({ now }) =>
        expireAttempts({ database, now, attemptDays: attemptRetentionDays }),
      ),
    },
    {
      name: 'expire-counts',
      schedule: '20 4 * * *',
      timeoutSeconds: 3_600,
      run: repeatUntilDone(({ now }) => expireCounts({ database, now })),
    },
  ]
}

function agentJobs({ delivery: { database }, audit }: JobDependencies): Job[] {
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

/** Composes what is due and sends it, so that the first notification waits a minute at most. */
function notificationJob({ delivery, audit, notifications }: JobDependencies): Job {
  return {
    name: 'send-notifications',
    schedule: '*/1 * * * *',
    timeoutSeconds: 50,
    run: async (_, { signal }) => {
      const { database, credentialKeys } = delivery
      await composeDigests({ database, ...notifications })
      await sendMessages({ database, credentialKeys, audit, ...notifications }, signal)
    },
  }
}

/** Repeats a step until nothing is left, nothing changes (a table is locked), or time is up. */
function repeatUntilDone(step: (context: JobContext) => Promise<{ more: boolean }>): Job['run'] {
  return async (_, context) => {
    for (let repeat = 0; repeat < REPEATS_MAX && !context.signal.aborted; repeat += 1) {
      const { more, ...counts } = await step(context)
      const hasChanged = Object.values(counts).some(count => Number(count) > 0)
      if (!more || !hasChanged) return
    }
  }
}

/** The payload of `enqueueJob(database, 'refresh-report', { trackerId, date })`. */
function parseReportPayload({ trackerId, date }: JobPayload): { trackerId: string; date: string } {
  return { trackerId: String(trackerId), date: String(date) }
}

const ALERT_ANNOUNCER: AlertAnnouncer = {
  lock: lockNotificationSettings,
  raise: raiseNotification,
}
