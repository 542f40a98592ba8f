import type { AuditVerification } from '@signalbox/contract/agents/audit.ts'
import type { Database } from '../runtime/db/database.ts'
import type { ChainLink } from './audit-entry.ts'
import { listLoggedWorkspaces } from './audit-read-store.ts'
import type { TrustedEntry } from './chain-verifier.ts'
import {
  type HeadCheckpoints,
  readHeadCheckpoints,
  saveHeadCheckpoints,
} from './head-checkpoints.ts'
import type { AuditHead, AuditKeys } from './signed-head.ts'
import { scanChain, toVerification, type VerifyRecords } from './verify-chain.ts'

export interface VerifyChainsContext {
  database: Database
  keys: AuditKeys
  /** Holds the checkpoints of the last verification. */
  dataDirectory: string
  now: Date
  /** Compares the tables of other modules with the log. */
  verifyRecords: VerifyRecords
  /** Called if checkpoints cannot be saved; verification continues. */
  onCheckpointError: (error: unknown) => void
  /** Stops before the next workspace. */
  signal?: AbortSignal
}

export interface VerifyChainsOptions {
  /** Null for every workspace. */
  workspaceId: number | null
  /** A head from an earlier export: the log must still contain that entry. */
  trustedHead: AuditHead | null
}

export interface VerifiedChain extends AuditVerification {
  workspaceId: number
}

/**
 * Verifies the log of one or every workspace, including workspaces that have a checkpoint but no
 * longer exist, and saves a checkpoint for each intact log. Throws a HeadCheckpointsError if the
 * checkpoints cannot be read.
 */
export async function* verifyChains(
  context: VerifyChainsContext,
  { workspaceId, trustedHead }: VerifyChainsOptions,
): AsyncGenerator<VerifiedChain> {
  const { database, keys, dataDirectory, now, signal, verifyRecords } = context
  const checkpoints = readHeadCheckpoints(dataDirectory)
  const verified = new Map<number, ChainLink>()
  try {
    for (const id of await listWorkspaceIds(database, checkpoints, trustedHead)) {
      if (signal?.aborted) return
      if (workspaceId !== null && id !== workspaceId) continue
      const trusted = trustedEntriesOf(id, checkpoints, trustedHead)
      const scan = await scanChain(database, keys, { workspaceId: id, trusted, verifyRecords })
      if (!scan.finding && scan.entries > 0) verified.set(id, scan.last)
      yield { workspaceId: id, ...toVerification(scan, now) }
    }
  } finally {
    saveCheckpoints(context, verified)
  }
}

async function listWorkspaceIds(
  database: Database,
  checkpoints: HeadCheckpoints,
  trustedHead: AuditHead | null,
): Promise<number[]> {
  const ids = new Set([...(await listLoggedWorkspaces(database)), ...checkpoints.keys()])
  if (trustedHead) ids.add(trustedHead.workspaceId)
  return [...ids].toSorted((a, b) => a - b)
}

function trustedEntriesOf(
  id: number,
  checkpoints: HeadCheckpoints,
  trustedHead: AuditHead | null,
): TrustedEntry[] {
  const trusted: TrustedEntry[] = []
  const head = checkpoints.get(id)
  if (head) trusted.push({ ...head, source: 'the last verified head' })
  if (trustedHead?.workspaceId === id) trusted.push({ ...trustedHead, source: 'the provided head' })
  return trusted
}

function saveCheckpoints(
  { dataDirectory, onCheckpointError }: VerifyChainsContext,
  verified: HeadCheckpoints,
) {
  try {
    saveHeadCheckpoints(dataDirectory, verified)
  } catch (error) {
    onCheckpointError(error)
  }
}
