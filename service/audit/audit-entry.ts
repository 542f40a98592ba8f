import { hash } from 'node:crypto'
import type { AuditAction, AuditSubjectType } from '@signalbox/contract/agents/audit-actions.ts'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'

/**
 * Who did it, as IDs only: entries are never deleted, so names and addresses stay where they can
 * be changed and erased. `operator` runs the service; `system` is the service itself.
 */
export type AuditActor =
  | { type: 'person' | 'connection' | 'execution_token'; id: string }
  | { type: 'tracker'; id: string }
  | { type: 'operator' | 'system'; id: null }

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
