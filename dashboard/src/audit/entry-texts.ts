import type { AuditLogEntry } from '@signalbox/contract/agents/audit.ts'
import {
  AUDIT_ACTION_LABELS,
  AUDIT_SUBJECT_LABELS,
} from '@signalbox/contract/agents/audit-actions.ts'

/** The label of an action; its code if this version does not know it. */
export function auditActionLabel(action: string): string {
  return labelOf(AUDIT_ACTION_LABELS, action) ?? action
}

export function subjectLabel(type: string): string {
  return labelOf(AUDIT_SUBJECT_LABELS, type) ?? type.replaceAll('_', ' ')
}

export function actorLabel({ type, id }: AuditLogEntry['actor']): string {
  const label = labelOf(ACTOR_LABELS, type) ?? type
  return id === null ? label : `${label} ${id}`
}

const ACTOR_LABELS = {
  person: 'person',
  connection: 'agent',
  execution_token: 'token',
  tracker: 'tracker',
  operator: 'Operator',
  system: 'Signalbox',
}

function labelOf(labels: Readonly<Record<string, string>>, code: string): string | null {
  return Object.hasOwn(labels, code) ? (labels[code] ?? null) : null
}

/** Current names, by `type id`. */
export type SubjectNames = ReadonlyMap<string, string>

/** What the entry is about: its name, and of a key the kind and the ending. */
export function subjectText({ subject, details }: AuditLogEntry, names: SubjectNames): string {
  const { type, id } = subject
  const { kind, last_characters: ending, tracker_id: tracker } = details
  if (type === 'key' && typeof ending === 'string') {
    const label = `${String(kind ?? 'key').replaceAll('_', ' ')} …${ending}`
    const name = names.get(`tracker ${String(tracker)}`)
    return name === undefined ? label : `${label}, ${name}`
  }
  if (SINGLE_SUBJECTS.includes(type)) return subjectLabel(type)
  const name = names.get(`${type} ${id}`)
  if (name !== undefined && CLEAR_NAMES.includes(type)) return name
  return `${subjectLabel(type)} ${name ?? id}`
}

/** A workspace has one of each, so an ID says nothing. */
const SINGLE_SUBJECTS = ['policy', 'workspace']
/** The action or the name says what it is: an email, the campaign of an action. */
const CLEAR_NAMES = ['member', 'action', 'ad_account', 'connection', 'execution_token']

/** The proposal of an action or batch, for a link; null for anything else. */
export function proposalOf({ subject, details }: AuditLogEntry): string | null {
  const { type, id } = subject
  const proposal = String(type === 'batch' ? id : type === 'action' ? details.batch_id : '')
  return /^[1-9]\d{0,9}$/.test(proposal) ? proposal : null
}
