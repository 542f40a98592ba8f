import { AUDIT_ACTIONS, AUDIT_SUBJECT_TYPES } from '../../audit/audit-entry.ts'

/** Which part of the log is looked at, from the query of a page. */
export interface AuditPageQuery {
  action: string
  subjectType: string
  subjectId: string
  /** Entries older than this one; null for the newest. */
  before: number | null
  /** Where the newer pages begin, the newest first; 0 is the first page of all. */
  newer: readonly number[]
}

/** Numbers and UUIDs; the store could not even be asked for a NUL. */
const SUBJECT_ID = /^[\w-]{1,100}$/
const PAGES_REMEMBERED_MAX = 50

/** What cannot be meant counts as left out, so that a link that was cut still shows the log. */
export function parseAuditPageQuery(query: unknown): AuditPageQuery {
  const text = (name: string) => {
    const value = (query as Record<string, unknown> | null)?.[name]
    return typeof value === 'string' ? value.trim() : ''
  }
  const known = (name: string, words: readonly string[]) =>
    words.includes(text(name)) ? text(name) : ''
  return {
    action: known('action', AUDIT_ACTIONS),
    subjectType: known('subject_type', AUDIT_SUBJECT_TYPES),
    subjectId: SUBJECT_ID.test(text('subject_id')) ? text('subject_id') : '',
    before: parseSequence(text('before')) || null,
    newer: text('newer')
      .split('.', PAGES_REMEMBERED_MAX)
      .flatMap(part => parseSequence(part) ?? []),
  }
}

/** Null when it is none; sequences begin with 1. */
function parseSequence(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** The link to what is older than `before`, which knows the way back. */
export function olderPageQuery(query: AuditPageQuery, before: number): string {
  const newer = [query.before ?? 0, ...query.newer].slice(0, PAGES_REMEMBERED_MAX)
  return formatQuery({ ...query, before, newer })
}

/** The link one page back; null on the first one. */
export function newerPageQuery(query: AuditPageQuery): string | null {
  if (query.before === null) return null
  const [before = 0, ...newer] = query.newer
  return formatQuery({ ...query, before: before || null, newer })
}

function formatQuery({ action, subjectType, subjectId, before, newer }: AuditPageQuery): string {
  const given = { action, subject_type: subjectType, subject_id: subjectId }
  const pages = { before: before === null ? '' : String(before), newer: newer.join('.') }
  const filled = Object.entries({ ...given, ...pages }).filter(([, value]) => value !== '')
  return new URLSearchParams(filled).toString()
}
