import Type from 'typebox'
import {
  AUDIT_ACTIONS,
  AUDIT_SUBJECT_TYPES,
  type AuditAction,
  type AuditSubjectType,
} from '../../audit/audit-entry.ts'
import { Validator } from '../../runtime/http/validator.ts'

/** The filters and position of a page of the log. */
export interface AuditPageQuery {
  action: AuditAction | ''
  subjectType: AuditSubjectType | ''
  subjectId: string
  /** Only entries older than this sequence; null for the newest. */
  before: number | null
  /** `before` of the newer pages, the closest first; 0 is the first page. */
  newer: readonly number[]
}

/** Numbers and UUIDs; excludes NUL, which PostgreSQL rejects. */
const SUBJECT_ID = /^[\w-]{1,100}$/
const PAGES_REMEMBERED_MAX = 50

const auditQuery = new Validator(
  Type.Partial(
    Type.Object({
      action: Type.String(),
      subject_type: Type.String(),
      subject_id: Type.String(),
      before: Type.String(),
      newer: Type.String(),
    }),
  ),
)

/** Ignores invalid values, so that a truncated link still shows the log. */
export function parseAuditPageQuery(query: unknown): AuditPageQuery {
  const texts = auditQuery.pickValid(query)
  const text = (name: keyof typeof texts) => (texts[name] ?? '').trim()
  const known = <Choice extends string>(name: keyof typeof texts, options: readonly Choice[]) =>
    options.find(option => option === text(name)) ?? ''
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

function parseSequence(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** The query of the page of entries older than `before`, which keeps the way back. */
export function olderPageQuery(query: AuditPageQuery, before: number): string {
  const newer = [query.before ?? 0, ...query.newer].slice(0, PAGES_REMEMBERED_MAX)
  return formatQuery({ ...query, before, newer })
}

/** The query of the next newer page; null on the first page. */
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
