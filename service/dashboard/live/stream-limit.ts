import { hash } from 'node:crypto'

/** Open streams of a process, and of them by one person, workspace or address. */
export const STREAMS_MAX = 200
export const STREAM_SHARES = { user: 10, workspace: 50, address: 40 } as const
export type StreamShare = keyof typeof STREAM_SHARES

/** Who watches. */
export interface StreamOwner {
  userId: number
  workspaceId: number
  /** As the rate limits count it. */
  address: string
}

/** A slot: the worker, counted from 1, and the owner. 0 is a free slot. */
const SLOT_INTEGERS = 5
/** The lock, then the slots. */
const LOCK = 0
const FIRST_SLOT = 1

/** Memory for the open streams of a process, which its HTTP workers share. */
export function allocateStreamSlots(): SharedArrayBuffer {
  const integers = FIRST_SLOT + STREAMS_MAX * SLOT_INTEGERS
  return new SharedArrayBuffer(integers * Int32Array.BYTES_PER_ELEMENT)
}

/** This worker's place in the memory. */
export interface StreamSlots {
  memory: SharedArrayBuffer
  index: number
}

/** Why a stream is refused: the process has too many, or its owner has a full share. */
export type StreamRefusal = 'process' | StreamShare

/**
 * Limits the open streams of a process, over all its workers, so that no person, workspace or
 * address takes them all: anyone can sign up, and create workspaces.
 */
export class StreamLimit {
  readonly #integers: Int32Array
  readonly #worker: number

  constructor({ memory, index }: StreamSlots = { memory: allocateStreamSlots(), index: 0 }) {
    this.#integers = new Int32Array(memory)
    this.#worker = index + 1
    // A worker that was restarted has no streams left.
    this.#locked(() => {
      for (const slot of SLOTS) if (this.#integers[slot] === this.#worker) this.#free(slot)
    })
  }

  /** Takes a slot, to be released once; or says which limit is reached. */
  tryTake(owner: StreamOwner): { release: () => void } | StreamRefusal {
    const own = [owner.userId, owner.workspaceId, ...digestAddress(owner.address)] as const
    return this.#locked(() => {
      const taken = SLOTS.filter(slot => this.#integers[slot] !== 0)
      const refusal = this.#findFullShare(taken, own)
      if (refusal) return refusal
      const slot = SLOTS.find(candidate => this.#integers[candidate] === 0)
      if (slot === undefined) return 'process'
      this.#integers.set([this.#worker, ...own], slot)
      return { release: () => this.#locked(() => this.#free(slot)) }
    })
  }

  #findFullShare(
    taken: readonly number[],
    [user, workspace, high, low]: readonly [number, number, number, number],
  ): StreamShare | null {
    const integers = this.#integers
    const counts: Record<StreamShare, number> = { user: 0, workspace: 0, address: 0 }
    for (const slot of taken) {
      if (integers[slot + 1] === user) counts.user += 1
      if (integers[slot + 2] === workspace) counts.workspace += 1
      if (integers[slot + 3] === high && integers[slot + 4] === low) counts.address += 1
    }
    const shares = Object.keys(STREAM_SHARES) as StreamShare[]
    return shares.find(share => counts[share] >= STREAM_SHARES[share]) ?? null
  }

  #free(slot: number): void {
    this.#integers.fill(0, slot, slot + SLOT_INTEGERS)
  }

  /** Held for some microseconds. A thread that died with the lock is waited for once. */
  #locked<Result>(work: () => Result): Result {
    for (let waits = 0; waits < WAITS_MAX; waits += 1) {
      if (Atomics.compareExchange(this.#integers, LOCK, 0, 1) === 0) break
      Atomics.wait(this.#integers, LOCK, 1, WAIT_MILLISECONDS)
    }
    try {
      return work()
    } finally {
      Atomics.store(this.#integers, LOCK, 0)
      Atomics.notify(this.#integers, LOCK, 1)
    }
  }
}

const WAITS_MAX = 50
const WAIT_MILLISECONDS = 1

const SLOTS = Array.from({ length: STREAMS_MAX }, (_, at) => FIRST_SLOT + at * SLOT_INTEGERS)

/** 64 bits, as two integers. */
function digestAddress(address: string): readonly [number, number] {
  const digest = hash('sha256', address, 'buffer')
  return [digest.readInt32LE(0), digest.readInt32LE(4)]
}
