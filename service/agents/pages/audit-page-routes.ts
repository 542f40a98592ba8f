import type {
  AuditPage as AuditEntries,
  AuditVerification,
} from '@signalbox/contract/agents/audit.ts'
import { hasPermission } from '@signalbox/contract/session/roles.ts'
import { html } from 'ghtml'
import Type from 'typebox'
import {
  AUDIT_ACTIONS,
  AUDIT_SUBJECT_TYPES,
  type AuditAction,
  type AuditSubjectType,
} from '../../audit/audit-entry.ts'
import { findSubjectNames } from '../../audit/audit-name-store.ts'
import { exportAudit, readAudit } from '../../audit/read-audit.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import { buttonForm, selectField, textField } from '../../runtime/pages/form-controls.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import { requirePageSession, type WorkspacePageRequest } from '../../workspaces/users/page-visit.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import {
  type PageMembership,
  requirePageMembership,
  workspacePage,
} from '../../workspaces/users/workspace-pages.ts'
import { requireRole } from '../../workspaces/users/workspaces.ts'
import type { AgentsContext } from '../agents-context.ts'
import { verifyProposalRecords } from '../proposals/verify-records.ts'
import { auditActionLabel, entryList, namedSubject, subjectLabel } from './audit-entries.ts'
import { escapeInvisibleLine } from './page-text.ts'

const PAGE = { config: { credential: 'none' } } as const
const ENTRIES_MAX = 50

/** Pages to read, verify and export the audit log of a workspace. */
export function auditPageRoutes(pages: ServiceApp, context: AgentsContext): void {
  const url = '/workspaces/:workspace/audit'
  pages.get(url, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const frame = await loadAuditFrame(context, visit)
    if (!frame.mayRead) return reply.code(403).send(auditForbiddenPage(frame))
    return reply.send(await renderAuditLog(context, frame, request.query))
  })
  pages.post(`${url}/verify`, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const frame = await loadAuditFrame(context, visit)
    if (!frame.mayRead) return reply.code(403).send(auditForbiddenPage(frame))
    const { database, auditKeys, now } = context
    const { workspaceId } = frame.membership
    const verification = await verifyChain(database, auditKeys, {
      workspaceId,
      now: now(),
      verifyRecords: verifyProposalRecords,
    })
    return reply.send(await renderAuditLog(context, frame, {}, verification))
  })
  // Where the browser comes back to after signing in, when a signed-out user sent the form.
  pages.get(`${url}/verify`, PAGE, async (request, reply) => {
    const { workspace } = readPathParameters(request.params, 'workspace')
    return reply.redirect(`/workspaces/${encodeURIComponent(workspace)}/audit`, 303)
  })
  pages.get(`${url}/export`, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const intent = { workspaceId: visit.workspaceId, action: 'read_audit' } as const
    const { workspaceId } = await requireRole(context.database, visit.user, intent)
    const { current: signingKey } = context.contractKeys
    return reply
      .header('content-type', 'application/x-ndjson; charset=utf-8')
      .header('content-disposition', `attachment; filename="audit-${workspaceId}.ndjson"`)
      .send(exportAudit(context.database, { workspaceId, signingKey }))
  })
}

type AuditFrame = Pick<AuditPage, 'user' | 'membership'>

/** Who belongs to the workspace and may not read its log is told so on a page of the workspace. */
async function loadAuditFrame(
  { database }: AgentsContext,
  { user, workspaceId }: WorkspacePageRequest,
) {
  const membership = await requirePageMembership(database, user, { workspaceId })
  return { user, membership, mayRead: hasPermission(membership.role, 'read_audit') }
}

async function renderAuditLog(
  { database }: AgentsContext,
  { user, membership }: AuditFrame,
  given: unknown,
  verification?: AuditPage['verification'],
): Promise<string> {
  const query = parseAuditPageQuery(given)
  const { action, subjectType, subjectId, before } = query
  const entriesPage = await readAudit(database, membership.workspaceId, {
    ...(action && { action }),
    ...(subjectType && { subjectType }),
    ...(subjectId && { subjectId }),
    ...(before && { before }),
    limit: ENTRIES_MAX,
  })
  const subjects = entriesPage.entries.map(namedSubject)
  const subjectNames = await findSubjectNames(database, membership.workspaceId, subjects)
  return auditPage({
    user,
    membership,
    entriesPage,
    subjectNames,
    query,
    ...(verification && { verification }),
  })
}

export interface AuditPage {
  user: CurrentUser
  membership: PageMembership
  entriesPage: AuditEntries
  /** Current names of the subjects, by `type id`. */
  subjectNames: ReadonlyMap<string, string>
  query: AuditPageQuery
  /** The result of a verification that was requested with this page. */
  verification?: AuditVerification
}

/** The audit log of a workspace, newest first, with filters, verification and export. */
function auditPage({
  user,
  membership,
  entriesPage,
  subjectNames,
  query,
  verification,
}: AuditPage): string {
  const base = `/workspaces/${membership.workspaceId}/audit`
  const content = html`!${verification === undefined ? '' : findingMessage(verification)}
<p>Everything that agents, people and Signalbox did here with agents, keys and settings. Entries
cannot be changed: each one contains the hash of its predecessor.</p>
<div class="actions">
!${buttonForm({ action: `${base}/verify`, label: 'Verify the log' })}
<a class="button quiet small" href="${base}/export" download>Download the log (NDJSON)</a>
</div>
!${filterForm(query, base)}
!${entryList({ ...entriesPage, workspaceId: membership.workspaceId, subjectNames })}
!${pageLinks(entriesPage, query, base)}`
  return workspacePage({ user, membership, tab: 'audit', content })
}

/** Shown instead of the log to members without permission. */
function auditForbiddenPage(given: Pick<AuditPage, 'user' | 'membership'>): string {
  const content = '<p>Only owners and administrators of the workspace can read its log.</p>'
  return workspacePage({ ...given, tab: 'audit', content })
}

function findingMessage({ is_intact, finding, verified_at }: AuditVerification): string {
  const look = is_intact ? 'success' : 'danger'
  return html`<div class="message ${look}" role="${is_intact ? 'status' : 'alert'}" tabindex="-1"
autofocus><h2>${is_intact ? 'The log is intact' : 'The log was changed'}</h2>
<p>${finding} Verified ${formatDateTime(new Date(verified_at))}.</p></div>`
}

const ANY = ['', 'All'] as const

function filterForm({ action, subjectType, subjectId }: AuditPageQuery, base: string): string {
  const actions = [ANY, ...AUDIT_ACTION_OPTIONS]
  const types = [ANY, ...AUDIT_SUBJECT_TYPES.map(type => [type, subjectLabel(type)] as const)]
  const isFiltered = action !== '' || subjectType !== '' || subjectId !== ''
  return html`<details><summary>Filter entries</summary>
<form method="get" action="${base}">
!${selectField({ name: 'action', label: 'Action', options: actions, value: action })}
!${selectField({ name: 'subject_type', label: 'Subject', options: types, value: subjectType })}
!${textField({ name: 'subject_id', label: 'Subject ID', value: subjectId, isOptional: true })}
<button class="quiet">Apply</button>
</form>
</details>
!${isFiltered ? activeFilters({ action, subjectType, subjectId }, base) : ''}`
}

type Filter = Pick<AuditPageQuery, 'action' | 'subjectType' | 'subjectId'>

/** Active filters are visible without opening the form. */
function activeFilters({ action, subjectType, subjectId }: Filter, base: string): string {
  const filters = [
    ...(action === '' ? [] : [auditActionLabel(action)]),
    ...(subjectType === '' ? [] : [subjectLabel(subjectType)]),
    ...(subjectId === '' ? [] : [escapeInvisibleLine(subjectId)]),
  ]
  return html`<p>Active filters: <bdi>${filters.join(', ')}</bdi>.
<a href="${base}">Clear filters</a></p>`
}

function pageLinks({ next_before }: AuditEntries, query: AuditPageQuery, base: string): string {
  const newer = newerPageQuery(query)
  if (newer === null && next_before === null) return ''
  const back = newer === null ? '' : html`<a href="${base}?${newer}" rel="prev">Newer entries</a>`
  const on =
    next_before === null
      ? ''
      : html`<a href="${base}?${olderPageQuery(query, next_before)}" rel="next">Older entries</a>`
  return html`<nav class="actions part" aria-label="Pages">!${back} !${on}</nav>`
}

const AUDIT_ACTION_OPTIONS = AUDIT_ACTIONS.map(
  action => [action, auditActionLabel(action)] as const,
)

/** The filters and position of a page of the log. */
interface AuditPageQuery {
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
