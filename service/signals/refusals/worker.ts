import { hash } from 'node:crypto'
import type { Database } from '../../runtime/db/database.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import { forEachNode } from '../../runtime/db/store-nodes.ts'
import { findKeyOwners, type KeyOwner } from '../access/key-store.ts'
import { computeKeyedDigest, type ErasureKeyProvider } from '../events/person-identifiers.ts'
import type { RefusalCount, RefusalRecorder } from './refusal-recorder.ts'
import { addRefusals } from './refusal-store.ts'

const INTERVAL_MILLISECONDS = 5_000

export interface RefusalWorker {
  /** Stores what was counted since the last time. Never throws. */
  flush(): Promise<void>
  /** Stores the rest. */
  stop(): Promise<void>
}

/** Stores the counts of refusals every five seconds, without keeping the process alive. */
export function startRefusalWorker({
  onError,
  ...context
}: RefusalFlush & { onError: (error: unknown) => void }): RefusalWorker {
  let last = Promise.resolve()
  // One after another: a slow store must not collect connections.
  const flush = () => {
    last = last.then(() => flushRefusals(context).catch(onError))
    return last
  }
  const timer = setInterval(flush, INTERVAL_MILLISECONDS)
  timer.unref()
  const stop = () => {
    clearInterval(timer)
    return flush()
  }
  return { flush, stop }
}

interface RefusalFlush {
  database: Database
  nodes: StoreNodes
  recorder: RefusalRecorder
  erasureKey: ErasureKeyProvider
}

/**
 * Stores what the recorder counted. A count of a credential that belongs to no tracker is dropped:
 * no one could be told. When a node fails, its counts that are not stored yet are lost, which a
 * count can bear; keeping them could fill the memory of a process whose store is down.
 */
export async function flushRefusals({
  database,
  nodes,
  recorder,
  erasureKey,
}: RefusalFlush): Promise<void> {
  const owned = await findOwners(database, recorder.take())
  if (owned.length === 0) return
  const key = await erasureKey()
  await forEachNode(nodes, owned, async (node, ownedOfNode) => {
    for (const [trackerId, counts] of Map.groupBy(ownedOfNode, count => count.trackerId)) {
      const stored = counts.map(({ eventIds, ...count }) => ({
        ...count,
        idDigests: eventIds.map(id => computeKeyedDigest(key, trackerId, digestRefusedId(id))),
      }))
      await addRefusals(node, trackerId, stored)
    }
  })
}

/** Distinct from the digests of identifiers, which the same key protects. */
export function digestRefusedId(eventId: string): string {
  return hash('sha256', `refused event\n${eventId}`, 'hex')
}

type OwnedCount = Omit<RefusalCount, 'sender'> & { trackerId: string }

async function findOwners(
  database: Database,
  counts: readonly RefusalCount[],
): Promise<OwnedCount[]> {
  const digests = new Set(
    counts.flatMap(({ sender }) => ('keyDigest' in sender ? sender.keyDigest : [])),
  )
  const owners = await findKeyOwners(database, [...digests])
  return counts.flatMap(({ sender, ...count }) => {
    if ('trackerId' in sender) return { ...count, trackerId: sender.trackerId }
    const owner = owners.get(sender.keyDigest)
    return owner ? { ...count, trackerId: owner.trackerId, rule: explainKey(count, owner) } : []
  })
}

/** Why a key that is known was not accepted. */
function explainKey(
  { rule }: Pick<RefusalCount, 'rule'>,
  { kind, isRevoked }: KeyOwner,
): RefusalCount['rule'] {
  if (rule !== 'key_not_accepted') return rule
  if (isRevoked) return 'key_revoked'
  return kind === 'forwarding' ? 'key_of_another_kind' : rule
}
