import type { AuditAction, AuditSubjectType } from '@signalbox/contract/agents/audit-actions.ts'
import { sql } from 'kysely'
import type { Database, Transaction } from '../runtime/db/database.ts'
import type { AuditHead } from './signed-head.ts'

/** A row of the log as stored; nothing in it is verified. */
export interface StoredEntry {
  sequence: number
  body: string
  hash: Buffer
  /** Columns that PostgreSQL generates from the body. */
  columns: { action: string; subjectType: string; subjectId: string }
}

export interface StoredHead extends AuditHead {
  signature: Buffer
}

/** A receipt with the log entry that it names; nothing in it is verified. */
export interface ActionReceipt {
  actionId: number
  sequence: number
  hash: Buffer
  document: string
  documentSha256: Buffer
}

/** Runs `work` on one snapshot, so concurrent appends do not affect what it reads. */
export function withSnapshot<Found>(
  { query }: Database,
  work: (snapshot: Transaction) => Promise<Found>,
): Promise<Found> {
  return query
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(transaction => work({ query: transaction }))
}

/** A range of sequences in the log of one workspace. */
export interface EntryRange {
  workspaceId: number
  /** Exclusive. Undefined starts at the first row, even if its sequence is invalid. */
  after?: number | undefined
  /** Inclusive. Undefined reads to the end. */
  until?: number | undefined
  limit: number
}

/**
 * Reads entries as stored. The database owner can store sequences beyond the safe integers of
 * JavaScript and drop `not null` constraints; such values are returned as the largest safe integer
 * and as empty text.
 */
export async function readEntries(
  transaction: Transaction,
  { workspaceId, after, until, limit }: EntryRange,
): Promise<StoredEntry[]> {
  let selection = selectEntries(transaction, workspaceId)
    .orderBy('audit_entries.sequence')
    .limit(limit)
  if (after !== undefined) selection = selection.where('sequence', '>', after)
  if (until !== undefined) selection = selection.where('sequence', '<=', until)
  return (await selection.execute()).map(toStoredEntry)
}

export interface EntryFilter {
  before?: number | undefined
  action?: AuditAction | undefined
  subjectType?: AuditSubjectType | undefined
  subjectId?: string | undefined
  limit: number
}

/** Newest first. */
export async function findNewestEntries(
  transaction: Transaction,
  workspaceId: number,
  { before, action, subjectType, subjectId, limit }: EntryFilter,
): Promise<StoredEntry[]> {
  let selection = selectEntries(transaction, workspaceId)
    .orderBy('audit_entries.sequence', 'desc')
    .limit(limit)
  if (before !== undefined) selection = selection.where('sequence', '<', before)
  if (action !== undefined) selection = selection.where('action', '=', action)
  if (subjectType !== undefined) selection = selection.where('subject_type', '=', subjectType)
  if (subjectId !== undefined) selection = selection.where('subject_id', '=', subjectId)
  return (await selection.execute()).map(toStoredEntry)
}

/** Entries with one of these actions since a given time, newest first. */
export async function findEntriesSince(
  transaction: Transaction,
  workspaceId: number,
  { actions, since, limit }: { actions: readonly AuditAction[]; since: Date; limit: number },
): Promise<StoredEntry[]> {
  const rows = await selectEntries(transaction, workspaceId)
    .where('action', 'in', actions)
    // Times are ISO 8601 in UTC, which compare as text.
    .where(sql<boolean>`body::jsonb ->> 'at' >= ${since.toISOString()}`)
    .orderBy('audit_entries.sequence', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toStoredEntry)
}

function selectEntries({ query }: Transaction, workspaceId: number) {
  return query
    .selectFrom('audit_entries')
    .select([
      safeInteger('sequence').as('sequence'),
      sql<string>`coalesce(body, '')`.as('body'),
      sql<Buffer>`coalesce(hash, '')`.as('hash'),
      'action',
      'subject_type',
      'subject_id',
    ])
    .where('workspace_id', '=', workspaceId)
}

type EntryRow = Awaited<ReturnType<ReturnType<typeof selectEntries>['execute']>>[number]

function toStoredEntry({ sequence, body, hash, action, subject_type, subject_id }: EntryRow) {
  const columns = { action, subjectType: subject_type, subjectId: subject_id }
  return { sequence, body, hash, columns }
}

/** Null if the log is empty or its head row is missing. */
export async function findHead(
  { query }: Transaction,
  workspaceId: number,
): Promise<StoredHead | null> {
  const row = await query
    .selectFrom('audit_heads')
    .select([safeInteger('sequence').as('sequence'), 'hash', 'signature'])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return row ? { workspaceId, ...row } : null
}

export interface LogExtent {
  head: StoredHead | null
  /** The sequence of the last entry; null if there is none. */
  lastSequence: number | null
}

/** Where a log ends according to its head and to its entries, read in one snapshot. */
export function findLogExtent(database: Database, workspaceId: number): Promise<LogExtent> {
  return withSnapshot(database, async snapshot => {
    const [newest] = await findNewestEntries(snapshot, workspaceId, { limit: 1 })
    return { head: await findHead(snapshot, workspaceId), lastSequence: newest?.sequence ?? null }
  })
}

/** The receipts that name entries of a range, ordered by sequence. */
export async function readReceipts(
  { query }: Transaction,
  { workspaceId, after, until, limit }: EntryRange,
): Promise<ActionReceipt[]> {
  let selection = query
    .selectFrom('agent_receipts')
    .select([
      'action_id',
      safeInteger('sequence').as('sequence'),
      'hash',
      'document',
      'document_sha256',
    ])
    .where('workspace_id', '=', workspaceId)
    .orderBy('agent_receipts.sequence')
    .orderBy('action_id')
    .limit(limit)
  if (after !== undefined) selection = selection.where('sequence', '>', after)
  if (until !== undefined) selection = selection.where('sequence', '<=', until)
  const rows = await selection.execute()
  return rows.map(({ action_id, document_sha256, ...row }) => ({
    ...row,
    actionId: action_id,
    documentSha256: document_sha256,
  }))
}

/** Every workspace, including deleted ones that still have a log. */
export async function listLoggedWorkspaces({ query }: Database): Promise<number[]> {
  const rows = await query
    .selectFrom('workspaces')
    .select('id')
    .union(query.selectFrom('audit_heads').select('workspace_id as id'))
    .union(query.selectFrom('audit_entries').select('workspace_id as id'))
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

function safeInteger(column: string) {
  return sql<number>`least(${sql.ref(column)}, ${sql.lit(Number.MAX_SAFE_INTEGER)})`
}
