import type {
  AuditPage as AuditEntries,
  AuditLogEntry,
  AuditVerification,
} from '@signalbox/contract/agents/audit.ts'
import { html } from 'ghtml'
import { AUDIT_ACTIONS, AUDIT_SUBJECT_TYPES, type AuditAction } from '../../audit/audit-entry.ts'
import { buttonForm, selectField, textField } from '../../pages/form-controls.ts'
import type { CurrentPerson } from '../../people/session-store.ts'
import { workspacePage } from '../../people/workspace-pages.ts'
import type { Membership } from '../../people/workspace-store.ts'
import { formatDateTime } from '../../util/time.ts'
import { type AuditPageQuery, newerPageQuery, olderPageQuery } from './audit-query.ts'
import { escapeInvisibleLine, untrustedName } from './untrusted-text.ts'

export interface AuditPage {
  person: CurrentPerson
  membership: Membership
  entriesPage: AuditEntries
  query: AuditPageQuery
  /** The result of a verification that was requested with this page. */
  verification?: AuditVerification
}

/** The audit log of a workspace, newest first, with filters, verification and export. */
export function auditPage({
  person,
  membership,
  entriesPage,
  query,
  verification,
}: AuditPage): string {
  const base = `/workspaces/${membership.workspaceId}/audit`
  const content = html`!${verification === undefined ? '' : findingMessage(verification)}
<section class="card" aria-labelledby="log">
<h2 id="log">Log</h2>
<p>Everything that agents, people and Signalbox did here with agents, keys and settings. Entries
cannot be changed: each one contains the hash of its predecessor.</p>
<div class="actions">
!${buttonForm({ action: `${base}/verify`, label: 'Verify the log', look: 'quiet' })}
<a class="button quiet" href="${base}/export" download>Download the log (NDJSON)</a>
</div>
</section>
!${filterForm(query, base)}
!${entriesCard(entriesPage, membership.workspaceId)}
!${pageLinks(entriesPage, query, base)}`
  return workspacePage({ person, membership, tab: 'audit', content })
}

/** Shown instead of the log to members without permission. */
export function auditForbiddenPage(given: Pick<AuditPage, 'person' | 'membership'>): string {
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
  return html`<details class="part"><summary>Filter entries</summary>
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

function entriesCard({ entries }: AuditEntries, workspaceId: number): string {
  if (entries.length === 0) return '<p class="part">No entries match.</p>'
  const rows = entries.map(entry => entryRow(entry, workspaceId))
  return html`<section class="card" aria-label="Entries"><ol class="plain">!${rows.join('')}</ol>
</section>`
}

function entryRow(entry: AuditLogEntry, workspaceId: number): string {
  const { sequence, at, actor, action, hash } = entry
  const by = actor.name === null ? '' : html`!${untrustedName(actor.name)}, `
  return html`<li class="row"><div>
<strong>${auditActionLabel(action)}</strong> · !${subjectText(entry, workspaceId)}<br>
<small>${formatDateTime(new Date(at))} · !${by}${actorLabel(actor)}</small>
<details><summary>Entry ${sequence}</summary>
<dl>!${detailRows(entry)}<dt>SHA-256</dt><dd><code>${hash}</code></dd></dl>
</details></div></li>`
}

/** Links to the proposal of an action or batch; validates the ID before building the link. */
function subjectText({ subject, details }: AuditLogEntry, workspaceId: number): string {
  const { type, id } = subject
  const label = escapeInvisibleLine(`${subjectLabel(type)} ${id}`)
  const batchId = String(type === 'batch' ? id : type === 'action' ? details.batch_id : '')
  if (!/^[1-9]\d{0,9}$/.test(batchId)) return html`<bdi>${label}</bdi>`
  return html`<a href="/workspaces/${workspaceId}/approvals/${batchId}">${label}</a>`
}

export function detailRows({ details }: AuditLogEntry): string {
  const filled = Object.entries(details).filter(([, value]) => value !== null)
  const items = filled.map(([name, value]) => {
    const text = isTextOrTexts(value) ? [value].flat().join(', ') : JSON.stringify(value)
    const label = escapeInvisibleLine(name.replaceAll('_', ' '))
    const shown = escapeInvisibleLine(text ?? '', DETAIL_CHARACTERS_MAX)
    return html`<dt>${label}</dt><dd><bdi>${shown}</bdi></dd>`
  })
  return items.join('')
}

function isTextOrTexts(value: unknown): value is string | string[] {
  return [value].flat().every(part => typeof part === 'string')
}

const DETAIL_CHARACTERS_MAX = 2_000

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

const AUDIT_ACTION_LABELS: Record<AuditAction, string> = {
  'connection.approved': 'Agent connected',
  'connection.renamed': 'Agent renamed',
  'connection.account_changed': 'Ad account of agent changed',
  'connection.revoked': 'Agent revoked',
  'execution_token.issued': 'Token issued',
  'execution_token.revoked': 'Token revoked',
  'member.added': 'Member added',
  'member.removed': 'Member removed',
  'member.role_changed': 'Role changed',
  'invitation.created': 'Invitation sent',
  'invitation.withdrawn': 'Invitation withdrawn',
  'invitation.declined': 'Invitation declined',
  'ad_account.added': 'Ad account added',
  'ad_account.disabled': 'Ad account disabled',
  'ad_account.enabled': 'Ad account enabled',
  'person.disabled': 'User disabled',
  'person.enabled': 'User enabled',
  'person.second_factors_removed': 'Second factors removed by the operator',
  'second_factor_requirement.changed': 'Second factor requirement changed',
  'workspace.disabled': 'Workspace disabled',
  'workspace.enabled': 'Workspace enabled',
  'tracker.created': 'Tracker created',
  'tracker.renamed': 'Tracker renamed',
  'destination.created': 'Destination created',
  'destination.checked': 'Destination check requested',
  'credential.changed': 'Platform credential changed',
  'key.issued': 'Key issued',
  'key.revoked': 'Key revoked',
  'audit.signed': 'Log signed by the operator',
  'policy.changed': 'Policy changed',
  'notifications.changed': 'Notifications changed',
  'webhook.changed': 'Webhook changed',
  'webhook.disabled': 'Webhook turned off after failures',
  'test_mode.switched': 'Test mode switched',
  'test_purchase.sent': 'Test purchase sent',
  'deliveries.replayed': 'Deliveries replayed',
  'user_data.erased': 'User data erased',
  'proposal.submitted': 'Proposal submitted',
  'action.blocked': 'Action blocked by the policy',
  'action.allowed': 'Action allowed by the policy',
  'action.approval_required': 'Action requires approval',
  'action.approved': 'Action approved',
  'action.rejected': 'Action rejected',
  'action.canceled': 'Action canceled by its agent',
  'action.executed': 'Action executed',
  'action.verified': 'Action verified',
  'action.failed': 'Action failed',
  'action.rolled_back': 'Action rolled back',
  'action.uncertain': 'Action needs review',
}

/** The label of an action; its code if this version does not know it. */
export function auditActionLabel(action: string): string {
  return Object.hasOwn(AUDIT_ACTION_LABELS, action)
    ? AUDIT_ACTION_LABELS[action as AuditAction]
    : action
}

const AUDIT_ACTION_OPTIONS = AUDIT_ACTIONS.map(
  action => [action, AUDIT_ACTION_LABELS[action]] as const,
)

const ACTOR_LABELS: Record<string, string> = {
  person: 'person',
  connection: 'agent',
  execution_token: 'token',
  tracker: 'tracker',
  operator: 'Operator',
  system: 'Signalbox',
}

function actorLabel({ type, id }: AuditLogEntry['actor']): string {
  const label = Object.hasOwn(ACTOR_LABELS, type) ? ACTOR_LABELS[type] : type
  return id === null ? `${label}` : `${label} ${id}`
}

function subjectLabel(type: string): string {
  return type === 'batch' ? 'proposal' : type.replaceAll('_', ' ')
}
