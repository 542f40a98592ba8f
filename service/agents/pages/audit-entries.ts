import type { AuditLogEntry } from '@signalbox/contract/agents/audit.ts'
import { html } from 'ghtml'
import { formatIsoMinute } from '../../runtime/util/time.ts'
import { actorLabel, auditActionLabel, subjectLabel } from './audit-labels.ts'
import { escapeInvisibleLine, untrustedName } from './untrusted-text.ts'

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
