import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'

/** Everything that is written down for good, by what it is about. */
export const AUDIT_ACTIONS = [
  'connection.approved',
  'connection.renamed',
  'connection.account_changed',
  'connection.revoked',
  'execution_token.issued',
  'execution_token.revoked',
  'key.issued',
  'key.revoked',
  'audit.signed',
  'policy.changed',
  'test_mode.switched',
  'deliveries.replayed',
  'user_data.erased',
  'proposal.submitted',
  'action.blocked',
  'action.allowed',
  'action.approval_required',
  'action.approved',
  'action.rejected',
  'action.executed',
  'action.verified',
  'action.failed',
  'action.rolled_back',
  'action.uncertain',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * Who did it. Ids only: the log is kept for good, so names and addresses of people stay where they
 * can be changed and erased. `operator`: who runs the program; `system`: nobody asked just then.
 */
export type AuditActor =
  | { type: 'person' | 'connection' | 'execution_token'; id: string }
  | { type: 'tracker'; id: string }
  | { type: 'operator' | 'system'; id: null }

export const AUDIT_SUBJECT_TYPES = [
  'workspace',
  'connection',
  'execution_token',
  'key',
  'policy',
  'destination',
  'tracker',
  'batch',
  'action',
] as const

export interface AuditSubject {
  type: (typeof AUDIT_SUBJECT_TYPES)[number]
  id: string
}

/** What JSON can say, and what no person can be known by (docs/decisions/0018). */
export type AuditDetails = Record<string, unknown>

/** One thing that happened in a workspace. */
export interface AuditEntry {
  workspaceId: number
  at: Date
  actor: AuditActor
  action: AuditAction
  subject: AuditSubject
  details: AuditDetails
}

/** Where an entry stands in the chain of its workspace. */
export interface ChainLink {
  sequence: number
  /** SHA-256 of the entry's text. */
  hash: Buffer
}

/** What the first entry of every chain names as the one before it. */
export const GENESIS_LINK: ChainLink = { sequence: 0, hash: Buffer.alloc(32) }

interface ChainedEntry extends ChainLink {
  /** The canonical text (RFC 8785) that `hash` is of. */
  body: string
}

/** The next entry of a chain: its text names its place and the digest of the one before. */
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
