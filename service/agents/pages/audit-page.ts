import type {
  AuditPage as AuditEntries,
  AuditVerification,
} from '@signalbox/contract/agents/audit.ts'
import { html } from 'ghtml'
import { AUDIT_ACTIONS, AUDIT_SUBJECT_TYPES } from '../../audit/audit-entry.ts'
import { buttonForm, selectField, textField } from '../../runtime/pages/form-controls.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import type { PageMembership } from '../../workspaces/users/page-membership.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { workspacePage } from '../../workspaces/users/workspace-pages.ts'
import { entryList } from './audit-entries.ts'
import { auditActionLabel, subjectLabel } from './audit-labels.ts'
import { type AuditPageQuery, newerPageQuery, olderPageQuery } from './audit-query.ts'
import { escapeInvisibleLine } from './untrusted-text.ts'

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
export function auditPage({
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
export function auditForbiddenPage(given: Pick<AuditPage, 'user' | 'membership'>): string {
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
