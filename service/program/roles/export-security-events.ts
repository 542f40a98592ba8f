import type { AuditActor, AuditSubject } from '../../audit/audit-entry.ts'
import {
  findNewestEntries,
  listLoggedWorkspaces,
  readEntries,
  type StoredEntry,
} from '../../audit/audit-read-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import { objectOrEmpty, parseJsonObject } from '../../runtime/util/is-object.ts'
import {
  listSecurityEvents,
  type SecurityEventPosition,
  type StoredSecurityEvent,
} from '../../workspaces/users/security-event-store.ts'

const PAGE_ROWS_MAX = 500

/**
 * Streams what a SIEM imports as JSON lines: sign-ins and other events of accounts, then the audit
 * entries of each workspace, all since a time. Each part is in the order of time. `id` is the same
 * in every export, so a SIEM that reads overlapping times can drop what it has. Each chunk is one
 * page of complete lines.
 */
export async function* exportSecurityEvents(
  database: Database,
  since: Date,
): AsyncGenerator<string> {
  yield* streamAccountEvents(database, since)
  for (const workspaceId of await listLoggedWorkspaces(database)) {
    yield* streamAuditEntries(database, workspaceId, since)
  }
}

/** One line of the export. */
interface SecurityLine {
  id: string
  time: string
  event: string
  actor: { type: AuditActor['type'] | 'anonymous'; id: string | null }
  subject: { type: AuditSubject['type'] | 'person'; id: string } | null
  workspace_id: number | null
  client_address: string | null
  request_id: string | null
  details: Record<string, unknown>
}

async function* streamAccountEvents(database: Database, since: Date): AsyncGenerator<string> {
  for (let after: SecurityEventPosition | null = null; ; ) {
    const page: StoredSecurityEvent[] = await listSecurityEvents(database, {
      since,
      after,
      limit: PAGE_ROWS_MAX,
    })
    if (page.length > 0) yield page.map(event => formatLine(toAccountLine(event))).join('')
    after = page.at(-1) ?? null
    if (page.length < PAGE_ROWS_MAX) return
  }
}

function toAccountLine(event: StoredSecurityEvent): SecurityLine {
  const id = event.userId === null ? null : String(event.userId)
  // A failed sign-in names the account that was tried, not who tried.
  const isOwn = id !== null && !ANONYMOUS_EVENTS.test(event.type)
  return {
    id: `account_${event.id}`,
    time: event.at.toISOString(),
    event: event.type,
    actor: isOwn ? { type: 'person', id } : { type: 'anonymous', id: null },
    subject: id === null ? null : { type: 'person', id },
    workspace_id: null,
    client_address: event.clientAddress,
    request_id: event.requestId,
    details: event.details,
  }
}

const ANONYMOUS_EVENTS = /\.(failed|limited|requested)$/

async function* streamAuditEntries(
  database: Database,
  workspaceId: number,
  since: Date,
): AsyncGenerator<string> {
  let after = await findSequenceBefore(database, workspaceId, since)
  for (;;) {
    const page = await readEntries(database, { workspaceId, after, limit: PAGE_ROWS_MAX })
    const lines = page.map(entry => toAuditLine(workspaceId, entry))
    const chosen = lines.filter(({ time }) => Date.parse(time) >= since.getTime())
    if (chosen.length > 0) yield chosen.map(formatLine).join('')
    after = page.at(-1)?.sequence
    if (page.length < PAGE_ROWS_MAX) return
  }
}

/**
 * The sequence after which a log is read: the start of the newest page that is entirely older than
 * the time. Times of neighbors can be reversed by a moment, so one older entry is not enough.
 */
async function findSequenceBefore(
  database: Database,
  workspaceId: number,
  since: Date,
): Promise<number | undefined> {
  for (let before: number | undefined; ; ) {
    const filter = { before, limit: PAGE_ROWS_MAX }
    const page = await findNewestEntries(database, workspaceId, filter)
    const isOlder = page.every(entry => Date.parse(readTime(entry)) < since.getTime())
    if (isOlder) return page.at(0)?.sequence
    if (page.length < PAGE_ROWS_MAX) return undefined
    before = page.at(-1)?.sequence
  }
}

function readTime({ body }: StoredEntry): string {
  const time = new Date(String(parseJsonObject(body)?.at))
  return Number.isNaN(time.getTime()) ? EPOCH : time.toISOString()
}

const EPOCH = new Date(0).toISOString()

/** Tolerates a tampered body, which `audit verify` reports. */
function toAuditLine(workspaceId: number, entry: StoredEntry): SecurityLine {
  const body = parseJsonObject(entry.body) ?? {}
  return {
    id: `audit_${workspaceId}_${entry.sequence}`,
    time: readTime(entry),
    event: entry.columns.action,
    actor: objectOrEmpty(body.actor) as unknown as SecurityLine['actor'],
    subject: objectOrEmpty(body.subject) as unknown as SecurityLine['subject'],
    workspace_id: workspaceId,
    client_address: null,
    request_id: null,
    details: objectOrEmpty(body.details),
  }
}

function formatLine(line: SecurityLine): string {
  return `${JSON.stringify(line)}\n`
}
