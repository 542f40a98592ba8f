import type { AuditVerification } from '@signalbox/contract/agents/audit.ts'
import type { Database } from '../runtime/db/database.ts'
import { type ChainLink, GENESIS_LINK } from './audit-entry.ts'
import { listLoggedWorkspaces, type StoredHead } from './audit-read-store.ts'
import {
  type AuditTrail,
  commitAudited,
  replaceSignature,
  streamHeads,
  upsertHead,
} from './audit-store.ts'
import type { TrustedEntry } from './chain-verifier.ts'
import {
  type AuditHead,
  type AuditKeys,
  type HeadCheckpoints,
  isSignedHead,
  readHeadCheckpoints,
  saveHeadCheckpoints,
  signHead,
} from './signed-head.ts'
import { type ChainScan, scanChain, toVerification, type VerifyRecords } from './verify-chain.ts'

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

interface NewEntriesContext {
  database: Database
  keys: AuditKeys
  /** Holds the checkpoints, from which the new entries begin. */
  dataDirectory: string
  /** Logs that are known to be broken. */
  excluded: ReadonlySet<number>
  /** Called if checkpoints cannot be saved; verification continues. */
  onCheckpointError: (error: unknown) => void
  /** Stops before the next workspace. */
  signal: AbortSignal
  /** The entries that one run reads; logs with more new ones wait for the whole verification. */
  entriesMax?: number
}

/** Ten seconds of work at most: a busy core verifies 15,000 entries in a second. */
const ENTRIES_MAX = 20_000
/** Each of them is verified as a whole. The next run finds the others. */
const SUSPECTS_MAX = 10

/**
 * Verifies what was appended to the logs since their checkpoints, which also finds an end that was
 * cut off or rewritten. It does not read earlier entries: the daily verification does. Returns the
 * workspaces whose logs look changed, for a verification as a whole, which finds the exact entry.
 * Throws a HeadCheckpointsError if the checkpoints cannot be read.
 */
export async function verifyNewEntries(context: NewEntriesContext): Promise<number[]> {
  const { database, keys, dataDirectory, signal, excluded, onCheckpointError } = context
  const checkpoints = readHeadCheckpoints(dataDirectory)
  const verified = new Map<number, ChainLink>()
  const headless = new Set(checkpoints.keys())
  const suspects: number[] = []
  let entriesLeft = context.entriesMax ?? ENTRIES_MAX
  for await (const head of streamHeads(database)) {
    const { workspaceId } = head
    if (signal.aborted) break
    headless.delete(workspaceId)
    if (excluded.has(workspaceId)) continue
    const from = checkpoints.get(workspaceId) ?? GENESIS_LINK
    const isSigned = isSignedHead(keys, head, head.signature)
    if (isSigned && isSameLink(head, from)) continue
    const newEntries = head.sequence - from.sequence
    if (isSigned && newEntries > entriesLeft) continue
    if (isSigned && newEntries > 0) {
      entriesLeft -= newEntries
      const scan = await scanChain(database, keys, { workspaceId, from })
      if (scan.finding) suspects.push(workspaceId)
      else verified.set(workspaceId, scan.last)
    } else {
      suspects.push(workspaceId)
    }
  }
  try {
    saveHeadCheckpoints(dataDirectory, verified)
  } catch (error) {
    onCheckpointError(error)
  }
  if (!signal.aborted) suspects.push(...headless.difference(excluded))
  return suspects.slice(0, SUSPECTS_MAX)
}

function isSameLink({ sequence, hash }: StoredHead, from: ChainLink): boolean {
  return sequence === from.sequence && hash.equals(from.hash)
}

interface SignResult {
  /** The chain as verified before signing. */
  scan: ChainScan
  outcome: 'signed' | 'already_signed' | 'refused'
}

interface SignChainInput {
  workspaceId: number
  keys: AuditKeys
  audit: AuditTrail
  at: Date
}

/**
 * Signs the head of a log whose only problem is a missing signature, such as after a lost key or an
 * append with a different key. The operator takes responsibility for the content; the next entry
 * records that. Refuses a log with any other problem.
 */
export async function signChain(
  database: Database,
  { workspaceId, keys, audit, at }: SignChainInput,
): Promise<SignResult> {
  const scan = await scanChain(database, keys, { workspaceId })
  if (!scan.finding) return { scan, outcome: 'already_signed' }
  if (!scan.finding.isUnsigned) return { scan, outcome: 'refused' }
  const head = { workspaceId, ...scan.last }
  await commitAudited({ database, audit }, async (transaction, record) => {
    await upsertHead(transaction, head, signHead(keys, head))
    record({
      workspaceId,
      at,
      action: 'audit.signed',
      actor: { type: 'operator', id: null },
      subject: { type: 'workspace', id: String(workspaceId) },
      details: { sequence: head.sequence },
    })
  })
  return { scan, outcome: 'signed' }
}

interface ResignResult {
  resigned: number
  /** Workspaces whose head none of the keys signed; they are left unchanged. */
  unsigned: number[]
}

/**
 * Signs the heads of all logs with the current key, so that previous keys can be removed. Never
 * signs a head that none of the keys signed. Idempotent, and safe while the service runs.
 */
export async function resignHeads(database: Database, keys: AuditKeys): Promise<ResignResult> {
  const result: ResignResult = { resigned: 0, unsigned: [] }
  const currentAlone = { current: keys.current, previous: [] }
  for await (const head of streamHeads(database)) {
    const { signature, ...place } = head
    if (isSignedHead(currentAlone, place, signature)) continue
    if (!isSignedHead(keys, place, signature)) result.unsigned.push(head.workspaceId)
    else if (await replaceSignature(database, head, signHead(keys, place))) result.resigned += 1
  }
  return result
}
