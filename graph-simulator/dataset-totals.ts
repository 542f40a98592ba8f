/** Datasets beyond this limit are counted in the total only. */
const DATASETS_MAX = 10_000

/** Totals for each dataset and for all datasets. */
export class TotalsByDataset {
  #total = new DatasetTotals()
  readonly #byDataset = new Map<string, DatasetTotals>()

  countRefused(dataset: string): void {
    for (const totals of this.#totalsFor(dataset)) totals.countRefused()
  }

  countAccepted(dataset: string, events: CountedEvent[]): void {
    for (const totals of this.#totalsFor(dataset)) totals.countAccepted(events)
  }

  /** The totals of one dataset, or of all datasets. */
  summary(dataset: string | undefined): TotalsSummary {
    if (dataset === undefined) return this.#total.summary()
    return (this.#byDataset.get(dataset) ?? new DatasetTotals()).summary()
  }

  clear(): void {
    this.#total = new DatasetTotals()
    this.#byDataset.clear()
  }

  #totalsFor(dataset: string): DatasetTotals[] {
    const existing = this.#byDataset.get(dataset)
    if (existing) return [this.#total, existing]
    if (this.#byDataset.size >= DATASETS_MAX) return [this.#total]
    const totals = new DatasetTotals()
    this.#byDataset.set(dataset, totals)
    return [this.#total, totals]
  }
}

/** What one accepted event adds to the totals. */
export interface CountedEvent {
  isTest: boolean
  deduplicated: boolean
  /** Set on a live Purchase. */
  purchase?: { value: ExactDecimal; currency: string } | undefined
}

/** The response of GET /_simulator/summary. */
interface TotalsSummary {
  requests: number
  refused_requests: number
  receipts: number
  unique_events: number
  deduplicated: number
  test_receipts: number
  value_by_currency: Record<string, string>
}

/** Totals since the last clear; dropping old receipts does not lower them. */
class DatasetTotals {
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

  countAccepted(events: CountedEvent[]): void {
    this.#requests++
    if (events.length === 0) this.#refusedRequests++
    for (const event of events) this.#countEvent(event)
  }

  summary(): TotalsSummary {
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
    const sums = [...this.#values].map(([currency, sum]) => [currency, formatDecimal(sum)])
    return Object.fromEntries(sums)
  }

  #countEvent({ isTest, deduplicated, purchase }: CountedEvent): void {
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

/** An exact decimal number: `units` divided by ten to the power of `scale`. */
export interface ExactDecimal {
  units: bigint
  /** Digits after the point, 0 or more. */
  scale: number
}

/** Longer than any amount of money: without a limit, a hostile number would cost seconds. */
const TEXT_LENGTH_MAX = 64
const EXPONENT_MAX = 50

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Parses a JSON number exactly. Undefined when it is not a number or is too long. */
export function parseDecimal(text: string): ExactDecimal | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined
  const [, sign, whole, fraction = '', exponentText = '0'] = NUMBER.exec(text) ?? []
  const exponent = Number(exponentText)
  if (whole === undefined || Math.abs(exponent) > EXPONENT_MAX) return undefined
  const units = BigInt(`${sign}${whole}${fraction}`)
  const scale = fraction.length - exponent
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale }
}

export function addDecimals(left: ExactDecimal, right: ExactDecimal): ExactDecimal {
  const scale = Math.max(left.scale, right.scale)
  return { units: unitsAt(left, scale) + unitsAt(right, scale), scale }
}

/** Plain digits without trailing zeros ("12.5", "0"), so that equal sums are equal strings. */
export function formatDecimal({ units, scale }: ExactDecimal): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '')
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`
}

function unitsAt({ units, scale }: ExactDecimal, targetScale: number): bigint {
  return units * 10n ** BigInt(targetScale - scale)
}
