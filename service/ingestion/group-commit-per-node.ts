import type { Database } from '../db/database.ts'
import {
  type CommitQueue,
  GroupCommit,
  PENDING_BYTES_MAX,
  queueFullRefusal,
} from './group-commit.ts'

export interface GroupCommitPerNodeOptions<Item, Outcome> {
  /** The node that owns the item's tracker. */
  nodeOf: (trackerId: string) => Promise<Database>
  /** Makes the function that commits items of one node in one transaction. */
  committerOf: (node: Database) => (items: readonly Item[]) => Promise<readonly Outcome[]>
  itemsMax: number
  /** Of all nodes together. */
  queueMax: number
  /** Of all nodes together; 32 MiB. */
  pendingBytesMax?: number
}

/**
 * A group commit for each node of the store, so that a transaction is of one node and a node that
 * is away or slow holds up its own trackers only. What waits in memory is bounded for all nodes
 * together. A node may hold as much as is still free, and no more: one that has stopped ends up
 * with half of the room, and the others share the other half.
 */
export class GroupCommitPerNode<Item extends { trackerId: string }, Outcome>
  implements CommitQueue<Item, Outcome>
{
  readonly #options: GroupCommitPerNodeOptions<Item, Outcome>
  readonly #queues = new Map<Database, GroupCommit<Item, Outcome>>()
  /** Items whose node is not known yet. */
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
    if (this.#freeItems() < 1 || this.#freeBytes() < bytes) throw this.#refusal()
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
    const hasItemRoom = queue.queued < this.#freeItems()
    const hasByteRoom = bytes === 0 || queue.pendingBytes + bytes <= this.#freeBytes()
    if (!hasItemRoom || !hasByteRoom) throw this.#refusal()
    return queue.submit(item, bytes)
  }

  #queueOf(node: Database): GroupCommit<Item, Outcome> {
    const known = this.#queues.get(node)
    if (known) return known
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

  #refusal() {
    this.#refusals += 1
    return queueFullRefusal()
  }
}
