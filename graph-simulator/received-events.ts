/** What the events of one accepted request share. */
export interface ReceivedBatch {
  dataset: string
  testEventCode: string | null
  partnerAgent: string | null
  requestId: string
  receivedAt: Date
  /** The JSON array `data`, byte for byte as received. */
  bytes: Buffer
}

export interface ReceivedEvent {
  eventId: string | null
  eventName: string
  /** Offset of the event's object in the batch's bytes. */
  start: number
}

export interface Receipt {
  readonly batch: ReceivedBatch
  readonly start: number
  readonly eventId: string | null
  /** True when the dataset received the same event less than 48 hours before. */
  readonly deduplicated: boolean
}

export interface ReceiptSearch {
  dataset: string | undefined
  eventId: string | undefined
  limit: number
}

export interface ReceivedEventsLimits {
  eventsMax: number
  /** Bytes of request text kept for all batches. */
  bytesMax: number
}

/** Meta's window: 48 hours from the first receipt ("Handling Duplicate Pixel and CAPI Events"). */
const DEDUPLICATION_SECONDS = 48 * 3_600

interface StoredBatch extends ReceivedBatch {
  receiptsLeft: number
}

interface StoredReceipt extends Receipt {
  batch: StoredBatch
  /** The key of the deduplication window that this receipt opened, if it did. */
  windowKey: string | null
  next: StoredReceipt | undefined
  nextOfId: StoredReceipt | undefined
}

/** The receipts that share one event_id, oldest first. */
interface ReceiptChain {
  oldest: StoredReceipt
  newest: StoredReceipt
}

/**
 * Everything received, oldest first, within limits: beyond them, the oldest receipts are dropped
 * together with their deduplication windows. Two linked lists (all receipts, and the receipts of
 * one event_id) make adding and dropping O(1) even when one event_id repeats without end.
 */
export class ReceivedEvents {
  readonly #limits: ReceivedEventsLimits
  readonly #chains = new Map<string, ReceiptChain>()
  readonly #windows = new Map<string, StoredReceipt>()
  #oldest: StoredReceipt | undefined
  #newest: StoredReceipt | undefined
  #size = 0
  #bytes = 0

  constructor(limits: ReceivedEventsLimits) {
    this.#limits = limits
  }

  /** Adds one accepted request; returns its receipts in the order of the events. */
  add(batch: ReceivedBatch, events: ReceivedEvent[]): Receipt[] {
    const stored: StoredBatch = { ...batch, receiptsLeft: events.length }
    this.#bytes += batch.bytes.length
    const receipts = events.map(event => this.#append(stored, event))
    while (this.#size > this.#limits.eventsMax || this.#bytes > this.#limits.bytesMax)
      this.#dropOldest()
    return receipts
  }

  /** The first `limit` matches, oldest first, and the count of all of them. */
  find({ dataset, eventId, limit }: ReceiptSearch): { count: number; receipts: Receipt[] } {
    const receipts: Receipt[] = []
    let count = 0
    let receipt = eventId === undefined ? this.#oldest : this.#chains.get(eventId)?.oldest
    while (receipt) {
      if (dataset === undefined || receipt.batch.dataset === dataset) {
        if (count < limit) receipts.push(receipt)
        count++
      }
      receipt = eventId === undefined ? receipt.next : receipt.nextOfId
    }
    return { count, receipts }
  }

  /** Removes everything; returns the number of removed receipts. */
  clear(): number {
    const removed = this.#size
    this.#chains.clear()
    this.#windows.clear()
    this.#oldest = undefined
    this.#newest = undefined
    this.#size = 0
    this.#bytes = 0
    return removed
  }

  #append(batch: StoredBatch, { eventId, eventName, start }: ReceivedEvent): StoredReceipt {
    const windowKey = eventId === null ? null : deduplicationKey(batch, eventId, eventName)
    const deduplicated = windowKey !== null && this.#isInWindow(windowKey, batch.receivedAt)
    const receipt: StoredReceipt = {
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
    if (eventId !== null) this.#appendToChain(eventId, receipt)
    return receipt
  }

  #appendToChain(eventId: string, receipt: StoredReceipt): void {
    const chain = this.#chains.get(eventId)
    if (!chain) this.#chains.set(eventId, { oldest: receipt, newest: receipt })
    else {
      chain.newest.nextOfId = receipt
      chain.newest = receipt
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
    if (receipt.eventId !== null) this.#dropFromChain(receipt.eventId, receipt)
    const { windowKey } = receipt
    if (windowKey !== null && this.#windows.get(windowKey) === receipt)
      this.#windows.delete(windowKey)
  }

  #dropFromChain(eventId: string, receipt: StoredReceipt): void {
    const chain = this.#chains.get(eventId)
    if (!chain) return
    if (receipt.nextOfId) chain.oldest = receipt.nextOfId
    else this.#chains.delete(eventId)
  }
}

/** Test events and live events never deduplicate each other. */
function deduplicationKey(batch: ReceivedBatch, eventId: string, eventName: string): string {
  const kind = batch.testEventCode === null ? 'live' : 'test'
  // The length of the name distinguishes ("a", "b c") from ("a b", "c").
  return `${kind} ${batch.dataset} ${eventName.length} ${eventName} ${eventId}`
}
