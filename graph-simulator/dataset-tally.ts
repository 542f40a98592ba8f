import { addDecimals, decimalText, type ExactDecimal } from './exact-decimal.ts'

/** What one accepted event adds to the counts. */
export interface Counted {
  isTest: boolean
  deduplicated: boolean
  /** Set on a live Purchase. */
  purchase?: { value: ExactDecimal; currency: string } | undefined
}

/** Members as they appear at GET /_simulator/summary. */
export interface TallySummary {
  requests: number
  refused_requests: number
  receipts: number
  unique_events: number
  deduplicated: number
  test_receipts: number
  value_by_currency: Record<string, string>
}

/** Counts since the last forgetting; dropping old receipts does not lower them. */
export class DatasetTally {
  #requests = 0
  #refusedRequests = 0
  #uniqueEvents = 0
  #deduplicated = 0
  #testReceipts = 0
  readonly #values = new Map<string, ExactDecimal>()

  countRefused(): void {
    this.#requests++
    this.#refusedRequests++
  }

  countAccepted(events: Counted[]): void {
    this.#requests++
    if (events.length === 0) this.#refusedRequests++
    for (const event of events) this.#countEvent(event)
  }

  summary(): TallySummary {
    return {
      requests: this.#requests,
      refused_requests: this.#refusedRequests,
      receipts: this.#uniqueEvents + this.#deduplicated,
      unique_events: this.#uniqueEvents,
      deduplicated: this.#deduplicated,
      test_receipts: this.#testReceipts,
      value_by_currency: this.#valueByCurrency(),
    }
  }

  #valueByCurrency(): Record<string, string> {
    const sums = [...this.#values].map(([currency, sum]) => [currency, decimalText(sum)])
    return Object.fromEntries(sums)
  }

  #countEvent({ isTest, deduplicated, purchase }: Counted): void {
    if (isTest) {
      this.#testReceipts++
      return
    }
    if (deduplicated) {
      this.#deduplicated++
      return
    }
    this.#uniqueEvents++
    if (!purchase) return
    const currency = purchase.currency.toUpperCase()
    const sum = this.#values.get(currency)
    this.#values.set(currency, sum ? addDecimals(sum, purchase.value) : purchase.value)
  }
}
