import type { AuditLogEntry } from '@signalbox/contract/agents/audit.ts'
import { isMember, keysOf } from '@signalbox/contract/closed-set.ts'
import {
  AUDIT_ACTIONS,
  AUDIT_SUBJECT_TYPES,
  type AuditAction,
  type AuditActor,
  type AuditSubjectType,
} from '../../audit/audit-entry.ts'

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

export function actorLabel({ type, id }: AuditLogEntry['actor']): string {
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
