import type { AuditLogEntry } from '@signalbox/contract/agents/audit.ts'
import { isMember, keysOf } from '@signalbox/contract/closed-set.ts'
import { html } from 'ghtml'
import {
  AUDIT_ACTIONS,
  AUDIT_SUBJECT_TYPES,
  type AuditAction,
  type AuditActor,
  type AuditSubjectType,
} from '../../audit/audit-entry.ts'
import { formatIsoMinute } from '../../runtime/util/time.ts'
import { escapeInvisibleLine, untrustedName } from './page-text.ts'

export interface EntryList {
  entries: readonly AuditLogEntry[]
  workspaceId: number
  /** Current names of the subjects, by `type id`. */
  subjectNames: ReadonlyMap<string, string>
}

/** Entries, one per line; each opens to its details. Returns HTML. */
export function entryList({ entries, workspaceId, subjectNames }: EntryList): string {
  if (entries.length === 0) return '<p class="part">No entries match.</p>'
  const rows = entries.map(entry => {
    const { type, id } = namedSubject(entry)
    return entryRow(entry, { workspaceId, name: subjectNames.get(`${type} ${id}`) ?? null })
  })
  return html`<ol class="card list log" aria-label="Entries, times in UTC">!${rows.join('')}</ol>`
}

/** What to look up the name of: the subject, or of a key its tracker, because keys have no name. */
export function namedSubject({ subject, details }: AuditLogEntry): AuditLogEntry['subject'] {
  const { tracker_id: trackerId } = details
  const isKey = subject.type === 'key' && typeof trackerId === 'string'
  return isKey ? { type: 'tracker', id: trackerId } : subject
}

interface SubjectView {
  workspaceId: number
  name: string | null
}

function entryRow(entry: AuditLogEntry, view: SubjectView): string {
  const { sequence, at, actor, action, hash } = entry
  const by = actor.name === null ? actorLabel(actor) : actor.name
  const time = formatIsoMinute(new Date(at))
  return html`<li id="entry-${sequence}"><details><summary>
<time datetime="${at}">${time}</time>
<strong>${auditActionLabel(action)}</strong>
<span>!${untrustedName(subjectText(entry, view.name))}</span>
<small>!${untrustedName(by)}</small></summary>
<dl class="facts">
<dt>Entry</dt><dd>${sequence}</dd>
<dt>By</dt><dd>!${untrustedName(by)}, ${actorLabel(actor)}</dd>
<dt>Subject</dt><dd>!${subjectLink(entry, view.workspaceId)}</dd>
!${detailRows(entry)}<dt>SHA-256</dt><dd><code>${hash}</code></dd></dl>
</details></li>`
}

/** What the entry is about: its name, and of a key the kind and the ending. */
function subjectText({ subject, details }: AuditLogEntry, name: string | null): string {
  const { type, id } = subject
  const { kind, last_characters: ending } = details
  if (type === 'key' && typeof ending === 'string') {
    const label = `${String(kind ?? 'key').replaceAll('_', ' ')} …${ending}`
    return name === null ? label : `${label}, ${name}`
  }
  if (SINGLE_SUBJECTS.includes(type)) return subjectLabel(type)
  if (name !== null && CLEAR_NAMES.includes(type)) return name
  return `${subjectLabel(type)} ${name ?? id}`
}

/** A workspace has one of each, so an ID says nothing. */
const SINGLE_SUBJECTS = ['policy', 'workspace']
/** The action or the name says what it is: an email, the campaign of an action. */
const CLEAR_NAMES = ['member', 'action', 'ad_account', 'connection', 'execution_token']

/** Links to the proposal of an action or batch; validates the ID before building the link. */
function subjectLink({ subject, details }: AuditLogEntry, workspaceId: number): string {
  const { type, id } = subject
  const label = escapeInvisibleLine(`${subjectLabel(type)} ${id}`)
  const batchId = String(type === 'batch' ? id : type === 'action' ? details.batch_id : '')
  if (!/^[1-9]\d{0,9}$/.test(batchId)) return html`<bdi>${label}</bdi>`
  return html`<a href="/workspaces/${workspaceId}/approvals/${batchId}">${label}</a>`
}

/** The details of an entry, as a list of terms. Returns HTML. */
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
  'tracker.consent_categories_changed': 'Consent categories changed',
  'tracker.page_id_sharing_changed': 'Sharing of page event IDs changed',
  'destination.created': 'Destination created',
  'destination.routing_changed': 'Routing of a destination changed',
  'destination.checked': 'Destination check requested',
  'destination.renamed': 'Destination renamed',
  'destination.paused': 'Destination paused',
  'destination.resumed': 'Destination resumed',
  'destination.disconnected': 'Destination disconnected',
  'credential.changed': 'Platform credential changed',
  'key.issued': 'Key issued',
  'key.revoked': 'Key revoked',
  'audit.signed': 'Log signed by the operator',
  'policy.changed': 'Policy changed',
  'policy.change_canceled': 'Waiting policy canceled',
  'notifications.changed': 'Notifications changed',
  'webhook.changed': 'Webhook changed',
  'webhook.disabled': 'Webhook turned off after failures',
  'test_mode.switched': 'Test mode switched',
  'test_purchase.sent': 'Test purchase sent',
  'report.made': 'Reconciliation report made',
  'import.started': 'Import of a file started',
  'issue.muted': 'Issue muted',
  'issue.resolved': 'Issue resolved',
  'issue.opened': 'Issue opened again',
  'alert_thresholds.changed': 'Alert thresholds changed',
  'deliveries.replayed': 'Deliveries replayed',
  'user_data.erased': 'User data erased',
  'withdrawals.lifted': 'Withdrawals of pages lifted',
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
  return isMember(AUDIT_ACTIONS, action) ? AUDIT_ACTION_LABELS[action] : action
}

const ACTOR_LABELS: Record<AuditActor['type'], string> = {
  person: 'person',
  connection: 'agent',
  execution_token: 'token',
  tracker: 'tracker',
  operator: 'Operator',
  system: 'Signalbox',
}

function actorLabel({ type, id }: AuditLogEntry['actor']): string {
  const label = isMember(keysOf(ACTOR_LABELS), type) ? ACTOR_LABELS[type] : type
  return id === null ? `${label}` : `${label} ${id}`
}

const SUBJECT_LABELS: Record<AuditSubjectType, string> = {
  workspace: 'workspace',
  member: 'member',
  invitation: 'invitation',
  ad_account: 'ad account',
  connection: 'connection',
  execution_token: 'execution token',
  key: 'key',
  policy: 'policy',
  destination: 'destination',
  tracker: 'tracker',
  batch: 'proposal',
  action: 'action',
}

export function subjectLabel(type: string): string {
  return isMember(AUDIT_SUBJECT_TYPES, type) ? SUBJECT_LABELS[type] : type.replaceAll('_', ' ')
}
