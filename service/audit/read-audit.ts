import type { AuditLogEntry, AuditPage } from '@signalbox/contract/agents/audit.ts'
import type { Database } from '../runtime/db/database.ts'
import { objectOrEmpty, parseJsonObject } from '../runtime/util/is-object.ts'
import { type ActorNames, findActorNames } from './actor-name-store.ts'
import type { AuditAction, AuditSubjectType } from './audit-entry.ts'
import { findEntriesSince, findNewestEntries, type StoredEntry } from './audit-read-store.ts'

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
  return {
    entries: await toLogEntries(database, workspaceId, page),
    next_before: found.length > limit ? (page.at(-1)?.sequence ?? null) : null,
  }
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
