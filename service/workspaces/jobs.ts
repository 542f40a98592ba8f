import type { AuditTrail } from '../audit/audit-store.ts'
import type { Database } from '../runtime/db/database.ts'
import { type Job, repeatUntilDone } from '../runtime/jobs/job.ts'
import type { Settings } from '../runtime/settings/settings.ts'
import type { CredentialKeys } from '../runtime/util/sealed-credential.ts'
import { DAY_MILLISECONDS } from '../runtime/util/time.ts'
import { composeDigests, type DigestContext } from './notifications/digest.ts'
import { deleteOldMessages } from './notifications/message-store.ts'
import { type SendContext, sendMessages } from './notifications/send-messages.ts'
import { deleteExpiredOauthRecords } from './oauth/artifact-store.ts'
import { deleteSecurityEventsBefore } from './users/security-event-store.ts'
import { deleteExpiredUserRecords } from './users/session-store.ts'
import { settleWaitingRoles } from './users/waiting-roles.ts'

export interface WorkspacesJobsContext {
  settings: Pick<Settings, 'securityEventRetentionDays'>
  database: Database
  credentialKeys: CredentialKeys
  audit: AuditTrail
  notifications: Pick<DigestContext, 'publicOrigin'> &
    Pick<SendContext, 'now' | 'sendEmail' | 'postWebhook' | 'onFailure'>
}

/** The scheduled work of this room: notifications, and access and records that ended. */
export function workspacesJobs(context: WorkspacesJobsContext): Job[] {
  const { settings, database } = context
  return [
    {
      name: 'send-notifications',
      schedule: '*/1 * * * *',
      timeoutSeconds: 50,
      run: (_, { signal }) => sendNotifications(context, signal),
    },
    {
      name: 'settle-waiting-roles',
      schedule: '*/5 * * * *',
      timeoutSeconds: 60,
      run: repeatUntilDone(({ now }) =>
        settleWaitingRoles({ database, audit: context.audit }, now),
      ),
    },
    {
      name: 'collect-ended-access',
      schedule: '50 3 * * *',
      timeoutSeconds: 600,
      run: async (payload, run) => {
        await deleteExpiredUserRecords(database, run.now)
        const kept = settings.securityEventRetentionDays * DAY_MILLISECONDS
        await deleteSecurityEventsBefore(database, new Date(run.now.getTime() - kept))
        await deleteExpiredOauthRecords(database, run.now)
        await repeatUntilDone(({ now }) => deleteOldMessages(database, now))(payload, run)
      },
    },
  ]
}

/** Composes what is due and sends it, so that the first notification waits a minute at most. */
async function sendNotifications(
  { database, credentialKeys, audit, notifications }: WorkspacesJobsContext,
  signal: AbortSignal,
): Promise<void> {
  await composeDigests({ database, ...notifications })
  await sendMessages({ database, credentialKeys, audit, ...notifications }, signal)
}
