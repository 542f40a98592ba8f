/** One request that was accepted, as far as its events share it. */
export interface ReceivedBatch {
  dataset: string
  testEventCode: string | null
  partnerAgent: string | null
  requestId: string
  receivedAt: Date
  /** The JSON array `data`, byte for byte as it came. */
  bytes: Buffer
}

export interface ReceivedEvent {
  eventId: string | null
  eventName: string
  /** Where the event's object begins in the batch's bytes. */
  start: number
}

export interface Receipt {
  readonly batch: ReceivedBatch
  readonly start: number
  readonly eventId: string | null
  /** True when the same event came to the same dataset less than 48 hours before. */
  readonly deduplicated: boolean
}

export interface ReceiptSearch {
  dataset: string | undefined
  eventId: string | undefined
  limit: number
}

export interface ReceivedEventsLimits {
  eventsMax: number
  /** Bytes of request text kept, all batches together. */
  bytesMax: number
}

/** Meta's window: 48 hours from the first receipt ("Handling Duplicate Pixel and CAPI Events"). */
const DEDUPLICATION_SECONDS = 48 * 3_600

interface KeptBatch extends ReceivedBatch {
  receiptsLeft: number
}

interface KeptReceipt extends Receipt {
  batch: KeptBatch
  /** Set on the receipt that opened a deduplication window: the key of that window. */
  windowKey: string | null
  next: KeptReceipt | undefined
  nextOfId: KeptReceipt | undefined
}

/** The receipts that share one event_id, oldest first. */
interface ReceiptChain {
  oldest: KeptReceipt
  newest: KeptReceipt
}

/**
 * Everything received, oldest first, within limits: when they are passed, the oldest receipts are
 * dropped, and with them the memory that their event_id was seen. Two linked lists (all receipts;
 * receipts of one event_id) make keeping and dropping O(1) even when one event_id repeats for ever.
 */
export class ReceivedEvents {
  readonly #limits: ReceivedEventsLimits
  readonly #threads = new Map<string, ReceiptChain>()
  readonly #windows = new Map<string, KeptReceipt>()
  #oldest: KeptReceipt | undefined
  #newest: KeptReceipt | undefined
  #size = 0
  #bytes = 0

  constructor(limits: ReceivedEventsLimits) {
    this.#limits = limits
  }

  /** Keeps one accepted request; answers its receipts in the order of the events. */
  keep(batch: ReceivedBatch, events: ReceivedEvent[]): Receipt[] {
    const kept: KeptBatch = { ...batch, receiptsLeft: events.length }
    this.#bytes += batch.bytes.length
    const receipts = events.map(event => this.#append(kept, event))
    while (this.#size > this.#limits.eventsMax || this.#bytes > this.#limits.bytesMax)
      this.#dropOldest()
    return receipts
  }

  /** The first `limit` matches, oldest first, and the count of all of them. */
  find({ dataset, eventId, limit }: ReceiptSearch): { count: number; receipts: Receipt[] } {
    const receipts: Receipt[] = []
    let count = 0
    let receipt = eventId === undefined ? this.#oldest : this.#threads.get(eventId)?.oldest
    while (receipt) {
      if (dataset === undefined || receipt.batch.dataset === dataset) {
        if (count < limit) receipts.push(receipt)
        count++
      }
      receipt = eventId === undefined ? receipt.next : receipt.nextOfId
    }
    return { count, receipts }
  }

  /** Forgets everything; answers how many receipts there were. */
  forget(): number {
    const forgotten = this.#size
    this.#threads.clear()
    this.#windows.clear()
    this.#oldest = undefined
    this.#newest = undefined
    this.#size = 0
    this.#bytes = 0
    return forgotten
  }

  #append(batch: KeptBatch, { eventId, eventName, start }: ReceivedEvent): KeptReceipt {
    const windowKey = eventId === null ? null : keyOf(batch, eventId, eventName)
    const deduplicated = windowKey !== null && this.#isInWindow(windowKey, batch.receivedAt)
    const receipt: KeptReceipt = {
      batch,
      start,
      eventId,
      deduplicated,
      windowKey: deduplicated ? null : windowKey,
      next: undefined,
      nextOfId: undefined,
    }
    if (receipt.windowKey !== null) this.#windows.set(receipt.windowKey, receipt)
    if (this.#newest) this.#newest.next = receipt
    else this.#oldest = receipt
    this.#newest = receipt
    this.#size++
    if (eventId !== null) this.#appendToThread(eventId, receipt)
    return receipt
  }

  #appendToThread(eventId: string, receipt: KeptReceipt): void {
    const thread = this.#threads.get(eventId)
    if (!thread) this.#threads.set(eventId, { oldest: receipt, newest: receipt })
    else {
      thread.newest.nextOfId = receipt
      thread.newest = receipt
    }
  }

  #isInWindow(windowKey: string, at: Date): boolean {
    const opener = this.#windows.get(windowKey)
    if (!opener) return false
    const sinceSeconds = (at.getTime() - opener.batch.receivedAt.getTime()) / 1_000
    return sinceSeconds < DEDUPLICATION_SECONDS
  }

  #dropOldest(): void {
    const receipt = this.#oldest
    if (!receipt) return
    this.#oldest = receipt.next
    if (!receipt.next) this.#newest = undefined
    this.#size--
    receipt.batch.receiptsLeft--
    if (receipt.batch.receiptsLeft === 0) this.#bytes -= receipt.batch.bytes.length
    if (receipt.eventId !== null) this.#dropFromThread(receipt.eventId, receipt)
    const { windowKey } = receipt
    if (windowKey !== null && this.#windows.get(windowKey) === receipt)
      this.#windows.delete(windowKey)
  }

  #dropFromThread(eventId: string, receipt: KeptReceipt): void {
    const thread = this.#threads.get(eventId)
    if (!thread) return
    if (receipt.nextOfId) thread.oldest = receipt.nextOfId
    else this.#threads.delete(eventId)
  }
}

/** Test events are kept apart: they make no live event a duplicate, nor the other way round. */
function keyOf(batch: ReceivedBatch, eventId: string, eventName: string): string {
  const kind = batch.testEventCode === null ? 'live' : 'test'
  // The name's length keeps ("a", "b c") and ("a b", "c") apart whatever the texts contain.
  return `${kind} ${batch.dataset} ${eventName.length} ${eventName} ${eventId}`
}
