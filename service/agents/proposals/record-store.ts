import {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditSubjectType,
} from '@signalbox/contract/agents/audit-actions.ts'
import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { type Selectable, sql } from 'kysely'
import type { Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import { objectOrEmpty, parseJsonObject } from '../../runtime/util/is-object.ts'
import type { Action } from './action.ts'
import { toAction } from './action-store.ts'

/** The rows of a table after an ID, with everything that the audit log says about them. */
export interface RecordPage {
  workspaceId: number
  afterId: number
  limit: number
}

/** A log entry about a record, with the members of its body. */
export interface RecordEntry {
  sequence: number
  actorType: unknown
  actorId: unknown
  action: Stored<AuditAction>
  details: Record<string, unknown>
}

export type ActionRow = Selectable<Tables['agent_actions']>
export type BatchRow = Selectable<Tables['agent_batches']>

export interface StoredAction {
  row: ActionRow
  action: Action
  /** Oldest first. */
  entries: RecordEntry[]
  receipt: { sequence: number; document: string } | null
}

export async function readActionRecords(
  { query }: Transaction,
  { workspaceId, afterId, limit }: RecordPage,
): Promise<StoredAction[]> {
  const rows = await query
    .selectFrom('agent_actions')
    .innerJoin('agent_batches', 'agent_batches.id', 'agent_actions.batch_id')
    .leftJoin('agent_receipts', 'agent_receipts.action_id', 'agent_actions.id')
    .selectAll('agent_actions')
    .select(['agent_batches.proposer_kind', 'agent_batches.proposer_id'])
    .select(['agent_batches.proposer_name', 'agent_batches.person_id', 'agent_batches.expires_at'])
    .select('agent_batches.all_or_nothing')
    .select(['agent_receipts.document', 'agent_receipts.sequence'])
    .where('agent_actions.workspace_id', '=', workspaceId)
    .where('agent_actions.id', '>', afterId)
    .orderBy('agent_actions.id')
    .limit(limit)
    .execute()
  const subject = { workspaceId, type: 'action' as const, ids: rows.map(({ id }) => id) }
  const entries = await readEntriesAbout({ query }, subject)
  return rows.map(row => ({
    row,
    action: toAction(row),
    entries: entries.get(String(row.id)) ?? [],
    receipt:
      row.document === null || row.sequence === null
        ? null
        : { document: row.document, sequence: row.sequence },
  }))
}

export interface StoredBatch {
  row: BatchRow
  entries: RecordEntry[]
}

export async function readBatchRecords(
  { query }: Transaction,
  { workspaceId, afterId, limit }: RecordPage,
): Promise<StoredBatch[]> {
  const rows = await query
    .selectFrom('agent_batches')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute()
  const subject = { workspaceId, type: 'batch' as const, ids: rows.map(({ id }) => id) }
  const entries = await readEntriesAbout({ query }, subject)
  return rows.map(row => ({ row, entries: entries.get(String(row.id)) ?? [] }))
}

interface EntrySubjects {
  workspaceId: number
  type: AuditSubjectType
  ids: readonly number[]
}

/** Log entries by the ID of their subject. */
async function readEntriesAbout(
  { query }: Transaction,
  { workspaceId, type, ids }: EntrySubjects,
): Promise<Map<string, RecordEntry[]>> {
  if (ids.length === 0) return new Map()
  // One lookup for each record: an `in` list may be read as a filter over the whole log.
  const { rows } = await sql<EntryRow & { subject_id: string }>`
    select entry.sequence, entry.action, entry.subject_id, entry.body
    from unnest(${ids.map(String)}::text[]) as subject (id)
    cross join lateral (
      select * from audit_entries
      where workspace_id = ${workspaceId}::integer and subject_type = ${type}::text
        and subject_id = subject.id
      order by sequence) entry`.execute(query)
  const entries = new Map<string, RecordEntry[]>()
  for (const row of rows) {
    const list = entries.get(row.subject_id)
    if (list) list.push(toRecordEntry(row))
    else entries.set(row.subject_id, [toRecordEntry(row)])
  }
  return entries
}

const POLICY_CHANGED: AuditAction = 'policy.changed'

/** The last change of the policy in the log; null if it was never changed. */
export async function findLastPolicyEntry(
  { query }: Transaction,
  workspaceId: number,
): Promise<RecordEntry | null> {
  const row = await query
    .selectFrom('audit_entries')
    .select(['sequence', 'action', 'body'])
    .where('workspace_id', '=', workspaceId)
    .where('action', '=', POLICY_CHANGED)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ? toRecordEntry(row) : null
}

type EntryRow = Pick<Selectable<Tables['audit_entries']>, 'sequence' | 'action' | 'body'>

function toRecordEntry({ sequence, action, body }: EntryRow): RecordEntry {
  const { actor, details } = parseJsonObject(body) ?? {}
  const { type: actorType, id: actorId } = objectOrEmpty(actor)
  return {
    sequence,
    action: parseStored(AUDIT_ACTIONS, action),
    actorType,
    actorId,
    details: objectOrEmpty(details),
  }
}

const RECORD_TABLES = { action: 'agent_actions', batch: 'agent_batches' } as const
export type RecordType = keyof typeof RECORD_TABLES

/** The first log entry about a row that does not exist in the workspace, or null. */
export async function findEntryWithoutRecord(
  { query }: Transaction,
  workspaceId: number,
  type: RecordType,
): Promise<{ sequence: number; id: string } | null> {
  const table = sql.table(RECORD_TABLES[type])
  const row = await query
    .selectFrom('audit_entries as entry')
    .select(['entry.sequence', 'entry.subject_id'])
    .where('entry.workspace_id', '=', workspaceId)
    .where('entry.subject_type', '=', type)
    // By the primary key of the record. A comparison as text would read the table per entry.
    .where(
      sql<boolean>`not exists (select 1 from ${table} record
        where record.workspace_id = ${workspaceId}
          and record.id = case when entry.subject_id ~ '^[0-9]{1,9}$'
            then entry.subject_id::integer end)`,
    )
    .orderBy('entry.sequence')
    .limit(1)
    .executeTakeFirst()
  return row ? { sequence: row.sequence, id: row.subject_id } : null
}
