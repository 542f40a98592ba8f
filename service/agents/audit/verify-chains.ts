import type { AuditVerification } from '@signalbox/contract/agents/audit.ts'
import type { Database } from '../../db/database.ts'
import type { ChainEntry } from './audit-entry.ts'
import { listLoggedWorkspaces } from './audit-read-store.ts'
import type { KnownEntry } from './chain-watch.ts'
import type { AuditHead, AuditKeys } from './head-signature.ts'
import { type RememberedHeads, readRememberedHeads, rememberHeads } from './remembered-heads.ts'
import { verificationOf } from './verify-chain.ts'
import { walkChain } from './walk-chain.ts'

export interface ChainsContext {
  database: Database
  keys: AuditKeys
  /** Where the heads of the last verification are remembered. */
  dataDirectory: string
  now: Date
  /** What was verified cannot be remembered; it counts all the same. */
  onForgotten: (error: unknown) => void
  /** Ends the walk before the next workspace. */
  signal?: AbortSignal
}

export interface ChainsOrder {
  /** Null: every one. */
  workspaceId: number | null
  /** A head that somebody kept: the log must still hold that entry. */
  given: AuditHead | null
}

export interface VerifiedChain extends AuditVerification {
  workspaceId: number
}

/**
 * Verifies the logs of all workspaces or of one, also of those that are gone from the store and
 * were there at the last verification, and remembers where the intact ones end. Throws a
 * RememberedHeadsError when it cannot be known what was there.
 */
export async function* verifyChains(
  context: ChainsContext,
  { workspaceId, given }: ChainsOrder,
): AsyncGenerator<VerifiedChain> {
  const { database, keys, dataDirectory, now, signal } = context
  const remembered = readRememberedHeads(dataDirectory)
  const verified = new Map<number, ChainEntry>()
  try {
    for (const id of await workspacesOf(database, remembered, given)) {
      if (signal?.aborted) return
      if (workspaceId !== null && id !== workspaceId) continue
      const known = knownOf(id, remembered, given)
      const walk = await walkChain(database, keys, { workspaceId: id, known })
      if (!walk.finding && walk.entries > 0) verified.set(id, walk.last)
      yield { workspaceId: id, ...verificationOf(walk, now) }
    }
  } finally {
    remember(context, verified)
  }
}

async function workspacesOf(
  database: Database,
  remembered: RememberedHeads,
  given: AuditHead | null,
): Promise<number[]> {
  const ids = new Set([...(await listLoggedWorkspaces(database)), ...remembered.keys()])
  if (given) ids.add(given.workspaceId)
  return [...ids].toSorted((a, b) => a - b)
}

function knownOf(id: number, remembered: RememberedHeads, given: AuditHead | null): KnownEntry[] {
  const known: KnownEntry[] = []
  const head = remembered.get(id)
  if (head) known.push({ ...head, from: 'the head that was verified last' })
  if (given?.workspaceId === id) known.push({ ...given, from: 'the head that was given' })
  return known
}

function remember({ dataDirectory, onForgotten }: ChainsContext, verified: RememberedHeads) {
  try {
    rememberHeads(dataDirectory, verified)
  } catch (error) {
    onForgotten(error)
  }
}
