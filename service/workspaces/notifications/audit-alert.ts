import type { AlertTransition, WorkspaceAlertKind } from '@signalbox/contract/alerts.ts'
import type { AuditAlerts } from '../../audit/jobs.ts'
import type { VerifiedChain } from '../../audit/verify-chains.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import {
  endWorkspaceAlert,
  listOpenWorkspaceAlerts,
  upsertWorkspaceAlert,
  workspaceExists,
} from './audit-alert-store.ts'
import type { Notification } from './notification.ts'
import { raiseNotification } from './notification-store.ts'

/** An alert about a workspace was raised or resolved. */
export interface WorkspaceAlertTransition {
  workspaceId: number
  kind: WorkspaceAlertKind
  transition: AlertTransition
  sentence: string
}

export interface AuditAlertContext {
  database: Database
  onWorkspaceAlert: (transition: WorkspaceAlertTransition) => void
}

const KIND: WorkspaceAlertKind = 'audit_log_broken'

export function createAuditAlerts(context: AuditAlertContext): AuditAlerts {
  return {
    async listOpen() {
      const open = await listOpenWorkspaceAlerts(context.database, null)
      const broken = open.filter(({ kind }) => kind === KIND)
      return new Set(broken.map(({ workspaceId }) => workspaceId))
    },
    update: (chain, at) => updateAuditAlert(context, chain, at),
  }
}

/**
 * Raises the alert about a log that was changed, or resolves it when the whole log was verified.
 * The notification is stored in the same transaction: processes of an earlier version, which do not
 * know this kind of alert, can neither repeat it nor take it back.
 */
async function updateAuditAlert(
  { database, onWorkspaceAlert }: AuditAlertContext,
  chain: VerifiedChain,
  at: Date,
): Promise<void> {
  const { workspaceId } = chain
  const transition = chain.is_intact ? 'resolved' : 'raised'
  const sentence = chain.is_intact ? RESOLUTION : describeFinding(chain)
  const hasChanged = await database.query.transaction().execute(async query => {
    const isNew = chain.is_intact
      ? await endWorkspaceAlert({ query }, { workspaceId, kind: KIND, resolvedAt: at })
      : await upsertWorkspaceAlert(
          { query },
          {
            workspaceId,
            kind: KIND,
            sentence,
            raisedAt: at,
            details: { broken_at: chain.broken_at },
          },
        )
    if (isNew) await notify({ query }, toNotification({ workspaceId, transition, sentence, at }))
    return isNew
  })
  if (hasChanged) onWorkspaceAlert({ workspaceId, kind: KIND, transition, sentence })
}

const RESOLUTION = 'The audit log of the workspace was verified: all entries are unchanged.'

function describeFinding({ broken_at: sequence, finding }: VerifiedChain): string {
  return `The audit log of the workspace was changed at entry ${sequence}: ${finding}`
}

async function notify(transaction: Transaction, notification: Notification): Promise<void> {
  if (!(await workspaceExists(transaction, notification.workspaceId))) return
  await raiseNotification(transaction, notification)
}

function toNotification({
  workspaceId,
  transition,
  sentence,
  at,
}: Omit<WorkspaceAlertTransition, 'kind'> & { at: Date }): Notification {
  return {
    workspaceId,
    topic: 'audit_log',
    type: `alert.${KIND}.${transition}`,
    recipients: { permission: 'read_audit', userId: null },
    subject: { type: 'workspace', id: String(workspaceId) },
    text: sentence,
    path: `/workspaces/${workspaceId}/audit`,
    at,
  }
}
