import { WORKSPACE_ALERT_KINDS, type WorkspaceAlertKind } from '@signalbox/contract/alerts.ts'
import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'

export interface WorkspaceAlert {
  workspaceId: number
  kind: WorkspaceAlertKind
  /** One sentence for people, without secrets and names. */
  sentence: string
  details: Record<string, unknown>
  raisedAt: Date
}

/** True if the alert is new. While one of the kind is open, it only gets the sentence. */
export async function upsertWorkspaceAlert(
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
export async function endWorkspaceAlert(
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
export async function workspaceExists(
  { query }: Transaction,
  workspaceId: number,
): Promise<boolean> {
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
