import {
  type AlertTransition,
  WORKSPACE_ALERT_KINDS,
  type WorkspaceAlertKind,
} from '@signalbox/contract/alerts.ts'
import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import type { AuditAlerts } from '../../audit/jobs.ts'
import type { VerifiedChain } from '../../audit/verify-chains.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { Notification } from './notification.ts'
import { raiseNotification } from './notification-store.ts'

export interface WorkspaceAlert {
  workspaceId: number
  kind: WorkspaceAlertKind
  /** One sentence for people, without secrets and names. */
  sentence: string
  details: Record<string, unknown>
  raisedAt: Date
}

/** True if the alert is new. While one of the kind is open, it only gets the sentence. */
async function upsertWorkspaceAlert(
  { query }: Transaction,
  { workspaceId, kind, sentence, details, raisedAt }: WorkspaceAlert,
): Promise<boolean> {
  const content = { sentence, details: JSON.stringify(details) }
  const inserted = await query
    .insertInto('workspace_alerts')
    .values({ workspace_id: workspaceId, kind, ...content, raised_at: raisedAt })
    .onConflict(conflict =>
      conflict.columns(['workspace_id', 'kind']).where('resolved_at', 'is', null).doNothing(),
    )
    .returning('id')
    .executeTakeFirst()
  if (inserted) return true
  await query
    .updateTable('workspace_alerts')
    .set(content)
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', kind)
    .where('resolved_at', 'is', null)
    .execute()
  return false
}

/** False if no alert of the kind is open. */
async function endWorkspaceAlert(
  { query }: Transaction,
  { workspaceId, kind, resolvedAt }: ResolvedWorkspaceAlert,
): Promise<boolean> {
  const ended = await query
    .updateTable('workspace_alerts')
    .set({ resolved_at: resolvedAt })
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', kind)
    .where('resolved_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return ended !== undefined
}

export interface ResolvedWorkspaceAlert {
  workspaceId: number
  kind: WorkspaceAlertKind
  resolvedAt: Date
}

export interface OpenWorkspaceAlert extends Pick<WorkspaceAlert, 'workspaceId' | 'sentence'> {
  kind: Stored<WorkspaceAlertKind>
  raisedAt: Date
}

/** The open alerts of one workspace, at most one of each kind, or of all. */
export async function listOpenWorkspaceAlerts(
  { query }: Pick<Database, 'query'>,
  workspaceId: number | null,
): Promise<OpenWorkspaceAlert[]> {
  let selection = query
    .selectFrom('workspace_alerts')
    .select(['workspace_id', 'kind', 'sentence', 'raised_at'])
    .where('resolved_at', 'is', null)
    .orderBy('workspace_id')
    .orderBy('kind')
    .limit(OPEN_ALERTS_MAX)
  if (workspaceId !== null) selection = selection.where('workspace_id', '=', workspaceId)
  const rows = await selection.execute()
  return rows.map(row => ({
    workspaceId: row.workspace_id,
    kind: parseStored(WORKSPACE_ALERT_KINDS, row.kind),
    sentence: row.sentence,
    raisedAt: row.raised_at,
  }))
}

const OPEN_ALERTS_MAX = 10_000

/** A workspace that was deleted can still have a log. */
async function workspaceExists({ query }: Transaction, workspaceId: number): Promise<boolean> {
  const row = await query
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', workspaceId)
    .executeTakeFirst()
  return row !== undefined
}

/** A metrics request omits the figure instead of waiting longer. */
const QUERY_TIMEOUT_MILLISECONDS = 3_000

/** The number of open alerts of all workspaces by kind, without kinds that have none. */
export async function countOpenWorkspaceAlerts({
  pool,
}: Database): Promise<Partial<Record<WorkspaceAlertKind, number>>> {
  const statement = {
    name: 'count-open-workspace-alerts',
    text: `select kind, count(*) as count from workspace_alerts
           where resolved_at is null group by kind`,
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  }
  const { rows } = await pool.query(statement)
  return Object.fromEntries(rows.map(row => [row.kind, row.count]))
}

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
