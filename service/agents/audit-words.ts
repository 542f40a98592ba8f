import type { AuditLogEntry } from '@signalbox/contract/agents/audit.ts'
import { AUDIT_ACTIONS, type AuditAction } from './audit/audit-entry.ts'

const WORDS: Record<AuditAction, string> = {
  'connection.approved': 'Agent connected',
  'connection.renamed': 'Agent renamed',
  'connection.account_changed': 'Ad account of an agent changed',
  'connection.revoked': 'Agent revoked',
  'execution_token.issued': 'Token issued',
  'execution_token.revoked': 'Token revoked',
  'key.issued': 'Key issued',
  'key.revoked': 'Key revoked',
  'audit.signed': 'The log was signed by an operator',
  'policy.changed': 'Policy changed',
  'test_mode.switched': 'Test mode switched',
  'deliveries.replayed': 'Deliveries sent again',
  'user_data.erased': 'Data of a person erased',
  'proposal.submitted': 'Proposal submitted',
  'action.blocked': 'Action blocked by the policy',
  'action.allowed': 'Action allowed by the policy',
  'action.approval_required': 'Action waits for a person',
  'action.approved': 'Action approved',
  'action.rejected': 'Action rejected',
  'action.executed': 'Action carried out',
  'action.verified': 'Action checked',
  'action.failed': 'Action failed',
  'action.rolled_back': 'Action taken back',
  'action.uncertain': 'Action left for a person',
}

/** What an entry is called; its code, where it is one that this program does not know. */
export function auditWords(action: string): string {
  return Object.hasOwn(WORDS, action) ? WORDS[action as AuditAction] : action
}

/** For choosing one. */
export const AUDIT_CHOICES = AUDIT_ACTIONS.map(action => [action, WORDS[action]] as const)

const ACTOR_WORDS: Record<string, string> = {
  person: 'person',
  connection: 'agent',
  execution_token: 'token',
  tracker: 'tracker',
  operator: 'Whoever runs the program',
  system: 'Signalbox',
}

/** The kind of who did something, and their id where they have one. */
export function actorWords({ type, id }: AuditLogEntry['actor']): string {
  const word = Object.hasOwn(ACTOR_WORDS, type) ? ACTOR_WORDS[type] : type
  return id === null ? `${word}` : `${word} ${id}`
}

/** What an entry is about, as pages call it. */
export function subjectWords(type: string): string {
  return type === 'batch' ? 'proposal' : type.replaceAll('_', ' ')
}
