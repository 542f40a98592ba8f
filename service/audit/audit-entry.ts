import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'

/** Every action that the audit log records. */
export const AUDIT_ACTIONS = [
  'connection.approved',
  'connection.renamed',
  'connection.account_changed',
  'connection.revoked',
  'execution_token.issued',
  'execution_token.revoked',
  'member.added',
  'member.removed',
  'member.role_changed',
  'invitation.created',
  'invitation.withdrawn',
  'invitation.declined',
  'ad_account.added',
  'ad_account.disabled',
  'ad_account.enabled',
  'person.disabled',
  'person.enabled',
  'person.second_factors_removed',
  'second_factor_requirement.changed',
  'workspace.disabled',
  'workspace.enabled',
  'tracker.created',
  'tracker.renamed',
  'tracker.consent_categories_changed',
  'tracker.page_id_sharing_changed',
  'destination.created',
  'destination.checked',
  'destination.renamed',
  'destination.paused',
  'destination.resumed',
  'destination.disconnected',
  'destination.routing_changed',
  'credential.changed',
  'key.issued',
  'key.revoked',
  'audit.signed',
  'policy.changed',
  'policy.change_canceled',
  'notifications.changed',
  'webhook.changed',
  'webhook.disabled',
  'test_mode.switched',
  'test_purchase.sent',
  'report.made',
  'import.started',
  'issue.muted',
  'issue.resolved',
  'issue.opened',
  'alert_thresholds.changed',
  'deliveries.replayed',
  'user_data.erased',
  'withdrawals.lifted',
  'proposal.submitted',
  'action.blocked',
  'action.allowed',
  'action.approval_required',
  'action.approved',
  'action.rejected',
  'action.canceled',
  'action.executed',
  'action.verified',
  'action.failed',
  'action.rolled_back',
  'action.uncertain',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * Who did it, as IDs only: entries are never deleted, so names and addresses stay where they can
 * be changed and erased. `operator` runs the service; `system` is the service itself.
 */
export type AuditActor =
  | { type: 'person' | 'connection' | 'execution_token'; id: string }
  | { type: 'tracker'; id: string }
  | { type: 'operator' | 'system'; id: null }

export const AUDIT_SUBJECT_TYPES = [
  'workspace',
  'member',
  'invitation',
  'ad_account',
  'connection',
  'execution_token',
  'key',
  'policy',
  'destination',
  'tracker',
  'batch',
  'action',
] as const

export type AuditSubjectType = (typeof AUDIT_SUBJECT_TYPES)[number]

export interface AuditSubject {
  type: AuditSubjectType
  id: string
}

/** Any JSON values that do not identify a person (docs/decisions/0018). */
export type AuditDetails = Record<string, unknown>

export interface AuditEntry {
  workspaceId: number
  at: Date
  actor: AuditActor
  action: AuditAction
  subject: AuditSubject
  details: AuditDetails
}

/** The position of an entry in the hash chain of its workspace. */
export interface ChainLink {
  sequence: number
  /** SHA-256 of the entry's text. */
  hash: Buffer
}

/** The predecessor of the first entry of every chain. */
export const GENESIS_LINK: ChainLink = { sequence: 0, hash: Buffer.alloc(32) }

interface ChainedEntry extends ChainLink {
  /** Canonical JSON (RFC 8785), the input of `hash`. */
  body: string
}

/** Builds the next entry of a chain. Its body contains its sequence and the previous hash. */
export function buildChainedEntry(entry: AuditEntry, previous: ChainLink): ChainedEntry {
  const sequence = previous.sequence + 1
  const { workspaceId, at, actor, action, subject, details } = entry
  const body = canonicalJson({
    workspace_id: workspaceId,
    sequence,
    previous_hash: previous.hash.toString('hex'),
    at: at.toISOString(),
    actor,
    action,
    subject,
    details,
  })
  return { sequence, body, hash: hashBody(body) }
}

export function hashBody(body: string): Buffer {
  return hash('sha256', body, 'buffer')
}
