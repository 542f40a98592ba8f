import { type Job, type JobPayload, repeatUntilDone } from '../runtime/jobs/job.ts'
import type { Settings } from '../runtime/settings/settings.ts'
import type { DeliveryContext } from './delivery/delivery-context.ts'
import { pollReceipts } from './delivery/poll-receipts.ts'
import { sendErasures } from './erasure/send-erasures.ts'
import { indexListPositions } from './events/list-position-store.ts'
import { ensurePartitions, PARTITION_DAYS_AHEAD } from './events/partition-store.ts'
import { replaceTextTokens } from './events/text-token-store.ts'
import type { AlertTransition } from './reports/alert-store.ts'
import { type AlertAnnouncer, announceAlerts } from './reports/announce-alerts.ts'
import { countFlowDays } from './reports/event-flow.ts'
import { makeDueReports, refreshReports } from './reports/make-reports.ts'
import { takeDueSnapshots } from './reports/take-snapshots.ts'
import { type WithdrawalAlerts, watchPageWithdrawals } from './reports/watch-page-withdrawals.ts'
import { expireAttempts, expireCounts, expireOldEvents } from './retention/expire-events.ts'
import { expirePayloads } from './retention/expire-payloads.ts'

export interface SignalsJobsContext {
  settings: Pick<
    Settings,
    | 'payloadRetentionDays'
    | 'ledgerRetentionMonths'
    | 'attemptRetentionDays'
    | 'pageWithdrawalAlertPerHour'
  >
  delivery: DeliveryContext
  onAlert: (transition: AlertTransition) => void
  announcer: AlertAnnouncer
  withdrawalAlerts: WithdrawalAlerts
}

/** The scheduled work of this room: partitions and lists, reports and alerts, retention. */
export function signalsJobs(context: SignalsJobsContext): Job[] {
  return [...storeJobs(context), ...reportJobs(context), ...expiryJobs(context)]
}

function storeJobs({ delivery }: SignalsJobsContext): Job[] {
  return [
    {
      name: 'prepare-partitions',
      schedule: '7 * * * *',
      timeoutSeconds: 60,
      run: (_, { now }) => ensurePartitions(delivery.database, now, PARTITION_DAYS_AHEAD),
    },
    {
      name: 'index-lists',
      schedule: '52 * * * *',
      timeoutSeconds: 600,
      run: (_, { signal }) => indexListPositions({ database: delivery.database, signal }),
    },
    {
      name: 'count-event-flow',
      schedule: '*/5 * * * *',
      timeoutSeconds: 240,
      run: (_, moment) => countFlowDays(delivery.database, moment),
    },
    {
      name: 'replace-text-tokens',
      schedule: '27 * * * *',
      timeoutSeconds: 600,
      run: async (_, { now, signal }) => {
        await replaceTextTokens({ database: delivery.database, now, signal })
      },
    },
  ]
}

function reportJobs({
  settings,
  delivery,
  onAlert,
  announcer,
  withdrawalAlerts: alerts,
}: SignalsJobsContext): Job[] {
  const { pageWithdrawalAlertPerHour: withdrawalsMin } = settings
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
      run: async payload => {
        await refreshReports(context, parseReportPayload(payload))
      },
    },
    {
      name: 'take-due-snapshots',
      schedule: '22 * * * *',
      timeoutSeconds: 600,
      run: repeatUntilDone(moment => takeDueSnapshots(context, moment)),
    },
    {
      name: 'poll-receipts',
      schedule: '*/5 * * * *',
      timeoutSeconds: 240,
      run: repeatUntilDone(moment => pollReceipts(delivery, moment)),
    },
    {
      name: 'send-erasures',
      schedule: '*/5 * * * *',
      timeoutSeconds: 240,
      run: repeatUntilDone(moment => sendErasures(delivery, moment)),
    },
    {
      name: 'announce-alerts',
      schedule: '*/1 * * * *',
      timeoutSeconds: 50,
      run: repeatUntilDone(moment => announceAlerts({ ...delivery, announcer }, moment)),
    },
    {
      name: 'watch-page-withdrawals',
      schedule: '*/5 * * * *',
      timeoutSeconds: 60,
      run: (_, { now }) =>
        watchPageWithdrawals({ database: delivery.database, alerts, withdrawalsMin }, now),
    },
  ]
}

function expiryJobs({ settings, delivery: { database } }: SignalsJobsContext): Job[] {
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

/** The payload of `enqueueJob(database, 'refresh-report', { trackerId, date })`. */
function parseReportPayload({ trackerId, date }: JobPayload): { trackerId: string; date: string } {
  return { trackerId: String(trackerId), date: String(date) }
}
