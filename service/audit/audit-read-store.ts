import { sql } from 'kysely'
import type { Database, Transaction } from '../db/database.ts'
import type { AuditHead } from './signed-head.ts'

/** A row of the log as it is found, whatever it says. */
export interface StoredEntry {
  sequence: number
  body: string
  hash: Buffer
  /** The columns beside the body, which are read from it. */
  columns: { action: string; subjectType: string; subjectId: string }
}

export interface StoredHead extends AuditHead {
  signature: Buffer
}

/** What a receipt says of itself, and where in the log it belongs. */
export interface StoredReceipt {
  actionId: number
  sequence: number
  hash: Buffer
  document: string
  documentSha256: Buffer
}

/** Everything that `work` reads is of one moment, so entries that come meanwhile do not disturb. */
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

/** A part of the log of one workspace, by sequence. */
export interface EntryRange {
  workspaceId: number
  /** Left out: from the very first row, also if its sequence makes no sense. */
  after?: number | undefined
  /** The last one that is asked for; left out: all that follow. */
  until?: number | undefined
  limit: number
}

/**
 * The rows as they are. Whoever owns the database can also put numbers there that JavaScript has
 * not, and drop what forbids nulls; they come as the largest number and as empty text.
 */
export async function readEntries(
  transaction: Transaction,
  { workspaceId, after, until, limit }: EntryRange,
): Promise<StoredEntry[]> {
  let asked = selectEntries(transaction, workspaceId).orderBy('audit_entries.sequence').limit(limit)
  if (after !== undefined) asked = asked.where('sequence', '>', after)
  if (until !== undefined) asked = asked.where('sequence', '<=', until)
  return (await asked.execute()).map(toStoredEntry)
}

export interface EntryFilter {
  before?: number | undefined
  action?: string | undefined
  subjectType?: string | undefined
  subjectId?: string | undefined
  limit: number
}

/** The newest first. */
export async function findNewestEntries(
  transaction: Transaction,
  workspaceId: number,
  { before, action, subjectType, subjectId, limit }: EntryFilter,
): Promise<StoredEntry[]> {
  let asked = selectEntries(transaction, workspaceId)
    .orderBy('audit_entries.sequence', 'desc')
    .limit(limit)
  if (before !== undefined) asked = asked.where('sequence', '<', before)
  if (action !== undefined) asked = asked.where('action', '=', action)
  if (subjectType !== undefined) asked = asked.where('subject_type', '=', subjectType)
  if (subjectId !== undefined) asked = asked.where('subject_id', '=', subjectId)
  return (await asked.execute()).map(toStoredEntry)
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

/** Null: nothing was ever written, or the row is gone. */
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
  /** The last entry that there is; null: there is none. */
  lastSequence: number | null
}

/** Where a log ends, by its head and by its entries, at one moment. */
export function findLogExtent(database: Database, workspaceId: number): Promise<LogExtent> {
  return withSnapshot(database, async snapshot => {
    const [newest] = await findNewestEntries(snapshot, workspaceId, { limit: 1 })
    return { head: await findHead(snapshot, workspaceId), lastSequence: newest?.sequence ?? null }
  })
}

/** The receipts that name a part of the log, by the sequence that they name. */
export async function readReceipts(
  { query }: Transaction,
  { workspaceId, after, until, limit }: EntryRange,
): Promise<StoredReceipt[]> {
  let asked = query
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
  if (after !== undefined) asked = asked.where('sequence', '>', after)
  if (until !== undefined) asked = asked.where('sequence', '<=', until)
  const rows = await asked.execute()
  return rows.map(({ action_id, document_sha256, ...row }) => ({
    ...row,
    actionId: action_id,
    documentSha256: document_sha256,
  }))
}

/** Every workspace, and those of which there is only something in the log. */
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
