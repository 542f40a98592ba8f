import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { AuditEntry, ChainEntry } from './audit-entry.ts'

/** What the first entry of every chain names as the one before it. */
export const FIRST_LINK: ChainEntry = { sequence: 0, hash: Buffer.alloc(32) }

export interface ChainedEntry extends ChainEntry {
  /** The canonical text (RFC 8785) that `hash` is of. */
  body: string
}

/** The next entry of a chain: its text names its place and the digest of the one before. */
export function chainedEntry(entry: AuditEntry, previous: ChainEntry): ChainedEntry {
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
  return { sequence, body, hash: digestOfBody(body) }
}

export function digestOfBody(body: string): Buffer {
  return hash('sha256', body, 'buffer')
}
