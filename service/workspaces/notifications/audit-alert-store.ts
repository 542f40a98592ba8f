import {
  type AlertTransition,
  WORKSPACE_ALERT_KINDS,
  type WorkspaceAlertKind,
} from '@signalbox/contract/alerts.ts'
import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import type { ChosenTopic } from '@signalbox/contract/session/notification-topics.ts'
import type { WorkspaceAction } from '@signalbox/contract/session/roles.ts'
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

export interface WorkspaceAlertContext {
  database: Database
  onWorkspaceAlert: (transition: WorkspaceAlertTransition) => void
}

const AUDIT_LOG_BROKEN: WorkspaceAlertKind = 'audit_log_broken'

export function createAuditAlerts(context: WorkspaceAlertContext): AuditAlerts {
  return {
    listOpen: () => listAlertedWorkspaces(context.database, AUDIT_LOG_BROKEN),
    update: (chain, at) =>
      changeWorkspaceAlert(context, {
        workspaceId: chain.workspaceId,
        kind: AUDIT_LOG_BROKEN,
        transition: chain.is_intact ? 'resolved' : 'raised',
        sentence: chain.is_intact ? RESOLUTION : describeFinding(chain),
        details: { broken_at: chain.broken_at },
        path: `/w/${chain.workspaceId}/audit`,
        at,
      }),
  }
}

const PAGE_WITHDRAWALS_MANY: WorkspaceAlertKind = 'page_withdrawals_many'

/** Alerts about workspaces whose pages send many withdrawals of consent. */
export function createWithdrawalAlerts(context: WorkspaceAlertContext) {
  return {
    listOpen: () => listAlertedWorkspaces(context.database, PAGE_WITHDRAWALS_MANY),
    update: (change: Omit<WorkspaceAlertChange, 'kind'>) =>
      changeWorkspaceAlert(context, { ...change, kind: PAGE_WITHDRAWALS_MANY }),
  }
}

async function listAlertedWorkspaces(
  database: Database,
  kind: WorkspaceAlertKind,
): Promise<ReadonlySet<number>> {
  const open = await listOpenWorkspaceAlerts(database, null)
  return new Set(open.filter(alert => alert.kind === kind).map(({ workspaceId }) => workspaceId))
}

export interface WorkspaceAlertChange extends WorkspaceAlertTransition {
  /** The figures behind the sentence. */
  details: Record<string, unknown>
  /** The page about it. */
  path: string
  at: Date
}

/**
 * Raises or resolves an alert. The notification is stored in the same transaction: processes of an
 * earlier version, which do not know this kind of alert, can neither repeat it nor take it back.
 */
async function changeWorkspaceAlert(
  { database, onWorkspaceAlert }: WorkspaceAlertContext,
  change: WorkspaceAlertChange,
): Promise<void> {
  const { workspaceId, kind, transition, sentence, details, at } = change
  const hasChanged = await database.query.transaction().execute(async query => {
    const isNew =
      transition === 'resolved'
        ? await endWorkspaceAlert({ query }, { workspaceId, kind, resolvedAt: at })
        : await upsertWorkspaceAlert(
            { query },
            { workspaceId, kind, sentence, details, raisedAt: at },
          )
    if (isNew) await notify({ query }, toNotification(change))
    return isNew
  })
  if (hasChanged) onWorkspaceAlert({ workspaceId, kind, transition, sentence })
}

const RESOLUTION = 'The audit log of the workspace was verified: all entries are unchanged.'

function describeFinding({ broken_at: sequence, finding }: VerifiedChain): string {
  return `The audit log of the workspace was changed at entry ${sequence}: ${finding}`
}

async function notify(transaction: Transaction, notification: Notification): Promise<void> {
  if (!(await workspaceExists(transaction, notification.workspaceId))) return
  await raiseNotification(transaction, notification)
}

/** The topic of each kind, and who is told unless they chose otherwise. */
const KIND_RECIPIENTS: Record<
  WorkspaceAlertKind,
  { topic: ChosenTopic; permission: WorkspaceAction }
> = {
  audit_log_broken: { topic: 'audit_log', permission: 'read_audit' },
  page_withdrawals_many: { topic: 'page_withdrawals', permission: 'manage_deliveries' },
}

function toNotification(change: WorkspaceAlertChange): Notification {
  const { workspaceId, kind, transition, sentence, path, at } = change
  const { topic, permission } = KIND_RECIPIENTS[kind]
  return {
    workspaceId,
    topic,
    type: `alert.${kind}.${transition}`,
    recipients: { permission, userId: null },
    subject: { type: 'workspace', id: String(workspaceId) },
    text: sentence,
    path,
    at,
  }
}
