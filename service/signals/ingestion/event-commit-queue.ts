import type { Database } from '../../runtime/db/database.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { findActiveWork, type Tracer, traceIdOf } from '../../runtime/tracing/tracer.ts'
import type { StoreActivity } from '../delivery/destination-queue-store.ts'
import type { DestinationRouteCache } from '../delivery/plan-store.ts'
import type { ErasureKeyProvider } from '../events/person-identifiers.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { type CommitOutcome, createEventCommitter } from './commit-events.ts'
import type { CommitHealth } from './commit-health.ts'
import type { EventDraft } from './event-draft.ts'
import {
  type CommitQueue,
  CommitTracer,
  GroupCommit,
  PENDING_BYTES_MAX,
  queueFullRefusal,
} from './group-commit.ts'

interface EventCommitQueueOptions {
  nodes: StoreNodes
  database: Database
  platforms: PlatformRegistry
  routes: DestinationRouteCache
  erasureKey: ErasureKeyProvider
  health: CommitHealth
  logger: ServiceLogger
  settings: Pick<Settings, 'commitEventsMax' | 'ingestQueueMax'>
  /** Tells delivery workers and live views. */
  onEventsStored: (activity: StoreActivity) => void
  /** Receives the figures of each commit, for metrics. */
  onCommitted?: ((group: CommittedGroup) => void) | undefined
  tracer: Tracer | null
}

/** Commits events in groups: one group at a time on one PostgreSQL, or per node on a cluster. */
export function createEventCommitQueue(
  options: EventCommitQueueOptions,
): CommitQueue<EventDraft, CommitOutcome> {
  const { nodes, database, health, logger, settings, onCommitted, tracer } = options
  const traces = tracer ? new CommitTracer(tracer) : null
  const onDuplicateRecordError = (err: unknown) =>
    logger.warn({ err }, 'could not record a duplicate submission')
  const committerOf = (node: Database) => {
    const commit = createEventCommitter({ ...options, database: node, onDuplicateRecordError })
    const measured = onCommitted ? measureCommits(commit, onCommitted) : commit
    return health.trackCommits(traces ? traces.traceCommits(measured) : measured)
  }
  const bounds = { itemsMax: settings.commitEventsMax, queueMax: settings.ingestQueueMax }
  const queue = nodes.isCluster
    ? new GroupCommitPerNode({ nodeOf: id => nodes.findNode(id), committerOf, ...bounds })
    : new GroupCommit({ commit: committerOf(database), ...bounds })
  return traces ? traces.traceQueue(queue) : queue
}

/** Events committed together. */
export interface CommittedGroup {
  eventCount: number
  /** Events that are not duplicates. */
  newCount: number
  seconds: number
  /** Of the span of the commit; null unless it is exported. */
  traceId: string | null
}

type CommitFunction = ReturnType<typeof createEventCommitter>

/** Wraps `commit` to report each group once it is durable. */
function measureCommits(
  commit: CommitFunction,
  onCommitted: (group: CommittedGroup) => void,
): CommitFunction {
  return async drafts => {
    const start = performance.now()
    const outcomes = await commit(drafts)
    const newCount = outcomes.filter(({ isNew }) => isNew).length
    const seconds = (performance.now() - start) / 1_000
    const traceId = traceIdOf(findActiveWork()?.span)
    onCommitted({ eventCount: drafts.length, newCount, seconds, traceId })
    return outcomes
  }
}

export interface GroupCommitPerNodeOptions<Item, Outcome> {
  /** Finds the node that owns the tracker. */
  nodeOf: (trackerId: string) => Promise<Database>
  /** Returns the function that commits items of one node in one transaction. */
  committerOf: (node: Database) => (items: readonly Item[]) => Promise<readonly Outcome[]>
  itemsMax: number
  /** Limit of waiting items, across all nodes. */
  queueMax: number
  /** Limit of pending bytes, across all nodes. Default: 32 MiB. */
  pendingBytesMax?: number
}

/**
 * Runs one group commit per node, so that each transaction stays on one node and a slow or
 * unavailable node delays only its own trackers. The limits apply to all nodes together. A queue
 * may grow only to the size of the remaining capacity: a node that has stopped ends up with half of
 * the capacity, and the others share the other half.
 */
export class GroupCommitPerNode<Item extends { trackerId: string }, Outcome>
  implements CommitQueue<Item, Outcome>
{
  readonly #options: GroupCommitPerNodeOptions<Item, Outcome>
  readonly #queues = new Map<Database, GroupCommit<Item, Outcome>>()
  /** Items whose node lookup is still running. */
  readonly #unrouted = new Set<Promise<Outcome>>()
  #unroutedBytes = 0
  #refusals = 0

  constructor(options: GroupCommitPerNodeOptions<Item, Outcome>) {
    this.#options = options
  }

  get queued(): number {
    let queued = this.#unrouted.size
    for (const queue of this.#queues.values()) queued += queue.queued
    return queued
  }

  get refusals(): number {
    return this.#refusals
  }

  submit(item: Item, bytes = 0): Promise<Outcome> {
    if (this.#freeItems() < 1 || this.#freeBytes() < bytes) throw this.#refuse()
    const routed = () => {
      this.#unrouted.delete(outcome)
      this.#unroutedBytes -= bytes
    }
    const outcome: Promise<Outcome> = this.#options
      .nodeOf(item.trackerId)
      .finally(routed)
      .then(node => this.#submitTo(node, item, bytes))
    this.#unrouted.add(outcome)
    this.#unroutedBytes += bytes
    return outcome
  }

  async drain(): Promise<void> {
    while (this.#unrouted.size > 0) await Promise.allSettled(this.#unrouted)
    await Promise.all([...this.#queues.values()].map(queue => queue.drain()))
  }

  #submitTo(node: Database, item: Item, bytes: number): Promise<Outcome> {
    const queue = this.#queueOf(node)
    const hasFreeItems = queue.queued < this.#freeItems()
    const hasFreeBytes = bytes === 0 || queue.pendingBytes + bytes <= this.#freeBytes()
    if (!hasFreeItems || !hasFreeBytes) throw this.#refuse()
    return queue.submit(item, bytes)
  }

  #queueOf(node: Database): GroupCommit<Item, Outcome> {
    const existing = this.#queues.get(node)
    if (existing) return existing
    const { committerOf, itemsMax, queueMax, pendingBytesMax } = this.#options
    const queue = new GroupCommit<Item, Outcome>({
      commit: committerOf(node),
      itemsMax,
      queueMax,
      ...(pendingBytesMax !== undefined && { pendingBytesMax }),
    })
    this.#queues.set(node, queue)
    return queue
  }

  #freeItems(): number {
    return this.#options.queueMax - this.queued
  }

  #freeBytes(): number {
    let free = (this.#options.pendingBytesMax ?? PENDING_BYTES_MAX) - this.#unroutedBytes
    for (const queue of this.#queues.values()) free -= queue.pendingBytes
    return free
  }

  #refuse() {
    this.#refusals += 1
    return queueFullRefusal()
  }
}
