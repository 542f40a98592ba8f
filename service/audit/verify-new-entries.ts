import type { Database } from '../runtime/db/database.ts'
import { type ChainLink, GENESIS_LINK } from './audit-entry.ts'
import type { StoredHead } from './audit-read-store.ts'
import { streamHeads } from './audit-store.ts'
import { readHeadCheckpoints, saveHeadCheckpoints } from './head-checkpoints.ts'
import { type AuditKeys, isSignedHead } from './signed-head.ts'
import { scanChain } from './verify-chain.ts'

export interface NewEntriesContext {
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
