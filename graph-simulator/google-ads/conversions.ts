import { addDecimals, type ExactDecimal, formatDecimal, parseDecimal } from '../dataset-totals.ts'
import type { IngestedConsent, IngestedEvent } from './validate-ingest.ts'

/** How one event ended at one conversion action: a conversion, a new value, or an error. */
export type EventOutcome = 'new' | 'restated' | `${string}_${string}`

/** One conversion, by account, conversion action and transaction. */
export interface Conversion {
  account: string
  conversion_action: string
  transaction_id: string
  /** Decimal text as it was sent; null for a conversion without a value. */
  value: string | null
  currency: string | null
  /** How often another event gave it a new value. */
  restated: number
}

export interface ConversionKey {
  account: string
  conversionAction: string
}

interface IngestInput extends ConversionKey {
  event: IngestedEvent
  /** Of the request; that of the event wins. */
  consent: IngestedConsent | undefined
  at: Date
}

const DAY_MILLISECONDS = 86_400_000
const CLICK_DAYS_MAX = 90
const PERSON_DAYS_MAX = 63
const CLICK_ID = /^[\w-]+$/
const CLICK_IDS = ['gclid', 'gbraid', 'wbraid'] as const

/** What Google counts: at most one conversion for each transaction and conversion action. */
export class Conversions {
  readonly #max: number
  readonly #byKey = new Map<string, Conversion>()

  constructor(max: number) {
    this.#max = max
  }

  /** Processes one event. The same transaction with another value restates the conversion. */
  ingest(input: IngestInput): EventOutcome {
    const error = findError(input)
    if (error !== undefined) return error
    const { account, conversionAction, event } = input
    const key = [account, conversionAction, event.transactionId].join(' ')
    const value = event.conversionValue?.text ?? null
    const currency = value === null ? null : (event.currency ?? null)
    const known = this.#byKey.get(key)
    if (known) return restate(known, { value, currency })
    this.#add(key, {
      account,
      conversion_action: conversionAction,
      transaction_id: event.transactionId,
      value,
      currency,
      restated: 0,
    })
    return 'new'
  }

  list(matches: (conversion: Conversion) => boolean): Conversion[] {
    return [...this.#byKey.values()].filter(matches)
  }

  /** The exact sum of the values that stand now, by currency. */
  sumValues(matches: (conversion: Conversion) => boolean): Record<string, string> {
    const sums = new Map<string, ExactDecimal>()
    for (const { value, currency } of this.list(matches)) {
      const decimal = value === null ? undefined : parseDecimal(value)
      if (decimal === undefined) continue
      const sum = sums.get(currency ?? '')
      sums.set(currency ?? '', sum ? addDecimals(sum, decimal) : decimal)
    }
    const entries = [...sums].sort(([one], [other]) => (one < other ? -1 : 1))
    return Object.fromEntries(entries.map(([currency, sum]) => [currency, formatDecimal(sum)]))
  }

  clear(): void {
    this.#byKey.clear()
  }

  #add(key: string, conversion: Conversion): void {
    const [oldest] = this.#byKey.keys()
    if (this.#byKey.size >= this.#max && oldest !== undefined) this.#byKey.delete(oldest)
    this.#byKey.set(key, conversion)
  }
}

function restate(
  known: Conversion,
  { value, currency }: Pick<Conversion, 'value' | 'currency'>,
): EventOutcome {
  const isSame = value === known.value && currency === known.currency
  if (value === null || isSame) return 'DUPLICATE_TRANSACTION_ID'
  known.value = value
  known.currency = currency
  known.restated += 1
  return 'restated'
}

function findError({ event, consent, at }: IngestInput): EventOutcome | undefined {
  const { adUserData } = { ...consent, ...event.consent }
  if (adUserData === 'CONSENT_DENIED') return 'DENIED_CONSENT'
  const invalid = CLICK_IDS.find(name => {
    const id = event.adIdentifiers?.[name]
    return id !== undefined && !CLICK_ID.test(String(id))
  })
  if (invalid !== undefined) return `INVALID_${invalid.toUpperCase()}`
  const days = (at.getTime() - Date.parse(event.eventTimestamp)) / DAY_MILLISECONDS
  const hasClick = CLICK_IDS.some(name => event.adIdentifiers?.[name] !== undefined)
  return days > (hasClick ? CLICK_DAYS_MAX : PERSON_DAYS_MAX) ? 'EVENT_TOO_OLD' : undefined
}
