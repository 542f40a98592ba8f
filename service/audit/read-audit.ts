import { Readable } from 'node:stream'
import type { AuditLogEntry, AuditPage } from '@signalbox/contract/agents/audit.ts'
import type { AuditAction, AuditSubjectType } from '@signalbox/contract/agents/audit-actions.ts'
import type { SigningKey } from '@signalbox/contract/signing-key.ts'
import type { Database } from '../runtime/db/database.ts'
import { objectOrEmpty, parseJsonObject } from '../runtime/util/is-object.ts'
import { GENESIS_LINK } from './audit-entry.ts'
import { type ActorNames, findActorNames, findSubjectNames } from './audit-name-store.ts'
import {
  type ActionReceipt,
  type EntryRange,
  findEntriesSince,
  findLogExtent,
  findNewestEntries,
  readEntries,
  readReceipts,
  type StoredEntry,
} from './audit-read-store.ts'
import { formatHeadLine } from './signed-head.ts'

/** Filters of a page, newest first. */
export interface AuditQuery {
  /** Only entries older than this sequence. */
  before?: number | undefined
  action?: AuditAction | undefined
  subjectType?: AuditSubjectType | undefined
  subjectId?: string | undefined
  limit: number
}

/** Reads a page of the log with the current names of actors. Entries are not verified. */
export async function readAudit(
  database: Database,
  workspaceId: number,
  query: AuditQuery,
): Promise<AuditPage> {
  const { limit } = query
  const found = await findNewestEntries(database, workspaceId, { ...query, limit: limit + 1 })
  const page = found.slice(0, limit)
  const entries = await toLogEntries(database, workspaceId, page)
  return {
    entries,
    subject_names: await readSubjectNames(database, workspaceId, entries),
    next_before: found.length > limit ? (page.at(-1)?.sequence ?? null) : null,
  }
}

async function readSubjectNames(
  database: Database,
  workspaceId: number,
  entries: readonly AuditLogEntry[],
): Promise<AuditPage['subject_names']> {
  const subjects = entries.map(namedSubject)
  const names = await findSubjectNames(database, workspaceId, subjects)
  const named = new Map(subjects.map(subject => [`${subject.type} ${subject.id}`, subject]))
  return [...named].flatMap(([key, { type, id }]) => {
    const name = names.get(key)
    return name === undefined ? [] : [{ type, id, name }]
  })
}

/** What to look up the name of: the subject, or of a key its tracker, because keys have no name. */
function namedSubject({ subject, details }: AuditLogEntry): AuditLogEntry['subject'] {
  const { tracker_id: trackerId } = details
  const isKey = subject.type === 'key' && typeof trackerId === 'string'
  return isKey ? { type: 'tracker', id: trackerId } : subject
}

/** Reads recent entries with one of these actions, newest first; entries are not verified. */
export async function readRecentAudit(
  database: Database,
  workspaceId: number,
  filter: Parameters<typeof findEntriesSince>[2],
): Promise<AuditLogEntry[]> {
  const found = await findEntriesSince(database, workspaceId, filter)
  return toLogEntries(database, workspaceId, found)
}

async function toLogEntries(
  database: Database,
  workspaceId: number,
  entries: readonly StoredEntry[],
): Promise<AuditLogEntry[]> {
  const bodies = entries.map(parseEntryBody)
  const actors = bodies.map(({ actor }) => actor)
  const names = await findActorNames(database, workspaceId, actors)
  return entries.map((entry, index) => toLogEntry(entry, bodies[index] as EntryBody, names))
}

type EntryBody = Pick<AuditLogEntry, 'at' | 'action' | 'subject' | 'details'> & {
  actor: { type: string; id: string | null }
}

function toLogEntry({ sequence, hash }: StoredEntry, body: EntryBody, names: ActorNames) {
  const { at, actor, action, subject, details } = body
  const name = names.get(`${actor.type} ${actor.id}`) ?? null
  const { type, id } = actor
  return {
    sequence,
    at,
    actor: { type, id, name },
    action,
    subject,
    details,
    hash: hash.toString('hex'),
  }
}

const EPOCH = '1970-01-01T00:00:00.000Z'

/** Tolerates a tampered body: the page is still shown, next to the verification result. */
export function parseEntryBody({ body, columns }: StoredEntry): EntryBody {
  const { at, ...members } = parseJsonObject(body) ?? {}
  const actor = objectOrEmpty(members.actor)
  const subject = objectOrEmpty(members.subject)
  return {
    at: Number.isNaN(Date.parse(String(at))) ? EPOCH : String(at),
    actor: { type: textOrUnknown(actor.type), id: typeof actor.id === 'string' ? actor.id : null },
    action: textOrUnknown(columns.action),
    subject: { type: textOrUnknown(subject.type), id: textOrUnknown(subject.id) },
    details: objectOrEmpty(members.details),
  }
}

function textOrUnknown(value: unknown): string {
  return typeof value === 'string' ? value : 'unknown'
}

const PAGE_ENTRIES_MAX = 500

interface ExportRequest {
  workspaceId: number
  /** Signs the head for outsiders; the key set that is served has its public part. */
  signingKey: SigningKey | null
}

/**
 * Streams the log of a workspace as NDJSON: one line per entry, oldest first, then the signed head.
 * `body` is the exact input of `hash`, and beside an entry with the digest of a receipt is the
 * receipt, so anyone can recompute the chain and see what changed. Nothing is verified here.
 * The end of the log is fixed when reading starts. Entries never change, so a slow reader does not
 * hold a snapshot open. Each chunk is one page of complete lines.
 */
export function exportAudit(database: Database, request: ExportRequest): Readable {
  return Readable.from(streamLines(database, request), { highWaterMark: 1 })
}

async function* streamLines(
  database: Database,
  { workspaceId, signingKey }: ExportRequest,
): AsyncGenerator<string> {
  const { head, lastSequence: last } = await findLogExtent(database, workspaceId)
  for (let after: number | undefined; last !== null; ) {
    const range = { workspaceId, after, until: last, limit: PAGE_ENTRIES_MAX }
    const page = await readEntries(database, range)
    if (page.length > 0) yield await formatPage(database, range, page)
    if (page.length < PAGE_ENTRIES_MAX) break
    after = page.at(-1)?.sequence
  }
  const { signature, ...place } = head ?? { ...EMPTY_HEAD, workspaceId }
  yield formatHeadLine(place, signature, signingKey)
}

/** The entry that ends an action has one receipt; the limit is for rows that were changed. */
async function formatPage(
  database: Database,
  range: EntryRange,
  page: readonly StoredEntry[],
): Promise<string> {
  const receipts = await readReceipts(database, { ...range, until: page.at(-1)?.sequence })
  const ofEntry = Map.groupBy(receipts, ({ sequence }) => sequence)
  return page
    .map(entry => formatEntryLine(range.workspaceId, entry, ofEntry.get(entry.sequence) ?? []))
    .join('')
}

/** The head of an empty log, or of a log whose head row is missing. */
const EMPTY_HEAD = { ...GENESIS_LINK, signature: Buffer.alloc(0) }

function formatEntryLine(
  workspaceId: number,
  { sequence, body, hash }: StoredEntry,
  receipts: readonly ActionReceipt[],
): string {
  const line = {
    workspace_id: workspaceId,
    sequence,
    previous_hash: parseJsonObject(body)?.previous_hash ?? null,
    hash: hash.toString('hex'),
    body,
    ...(receipts.length > 0 && { receipts: receipts.map(toExportedReceipt) }),
  }
  return `${JSON.stringify(line)}\n`
}

/** `change` repeats for a reader what `document` says. */
function toExportedReceipt({ document, documentSha256 }: ActionReceipt) {
  const receipt = parseJsonObject(document) ?? {}
  const members = CHANGE_MEMBERS.map(name => [name, receipt[name] ?? null])
  return {
    document_sha256: documentSha256.toString('hex'),
    change: Object.fromEntries(members),
    document,
  }
}

const CHANGE_MEMBERS = [
  'action_id',
  'type',
  'target_entity',
  'before',
  'after',
  'status',
  'outcome',
  'rationale',
  'decision',
]
