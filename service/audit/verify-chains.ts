import type { AuditVerification } from '@signalbox/contract/agents/audit.ts'
import type { Database } from '../db/database.ts'
import type { ChainLink } from './audit-entry.ts'
import { listLoggedWorkspaces } from './audit-read-store.ts'
import type { TrustedEntry } from './chain-verifier.ts'
import {
  type HeadCheckpoints,
  readHeadCheckpoints,
  saveHeadCheckpoints,
} from './head-checkpoints.ts'
import type { AuditHead, AuditKeys } from './signed-head.ts'
import { scanChain, toVerification } from './verify-chain.ts'

export interface VerifyChainsContext {
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

export interface VerifyChainsOptions {
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
 * HeadCheckpointsError when it cannot be known what was there.
 */
export async function* verifyChains(
  context: VerifyChainsContext,
  { workspaceId, given }: VerifyChainsOptions,
): AsyncGenerator<VerifiedChain> {
  const { database, keys, dataDirectory, now, signal } = context
  const remembered = readHeadCheckpoints(dataDirectory)
  const verified = new Map<number, ChainLink>()
  try {
    for (const id of await listWorkspaceIds(database, remembered, given)) {
      if (signal?.aborted) return
      if (workspaceId !== null && id !== workspaceId) continue
      const known = trustedEntriesOf(id, remembered, given)
      const walk = await scanChain(database, keys, { workspaceId: id, known })
      if (!walk.finding && walk.entries > 0) verified.set(id, walk.last)
      yield { workspaceId: id, ...toVerification(walk, now) }
    }
  } finally {
    saveCheckpoints(context, verified)
  }
}

async function listWorkspaceIds(
  database: Database,
  remembered: HeadCheckpoints,
  given: AuditHead | null,
): Promise<number[]> {
  const ids = new Set([...(await listLoggedWorkspaces(database)), ...remembered.keys()])
  if (given) ids.add(given.workspaceId)
  return [...ids].toSorted((a, b) => a - b)
}

function trustedEntriesOf(
  id: number,
  remembered: HeadCheckpoints,
  given: AuditHead | null,
): TrustedEntry[] {
  const known: TrustedEntry[] = []
  const head = remembered.get(id)
  if (head) known.push({ ...head, source: 'the head that was verified last' })
  if (given?.workspaceId === id) known.push({ ...given, source: 'the head that was given' })
  return known
}

function saveCheckpoints(
  { dataDirectory, onForgotten }: VerifyChainsContext,
  verified: HeadCheckpoints,
) {
  try {
    saveHeadCheckpoints(dataDirectory, verified)
  } catch (error) {
    onForgotten(error)
  }
}
