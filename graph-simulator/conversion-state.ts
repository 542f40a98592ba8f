import {
  type ConversionFaultRule,
  type FaultCandidate,
  matchesRequest,
} from './conversion-faults.ts'
import { RuleInjector } from './fault-injector.ts'

/** The state of one platform, in memory only. */
export interface ConversionState {
  faults: RuleInjector<ConversionFaultRule, FaultCandidate>
  /** The newest ones, oldest first. */
  receipts: ConversionReceipt[]
  /** The dedup keys of what is counted. */
  counted: Set<string>
  /** By account. */
  calls: Map<string, { minute: number; count: number }>
  requests: number
  refusedRequests: number
}

interface ConversionReceipt {
  account: string
  event: unknown
  isTest: boolean
  isDeduplicated: boolean
  receivedAt: Date
}

export function createConversionState(): ConversionState {
  return {
    faults: new RuleInjector(matchesRequest),
    receipts: [],
    counted: new Set(),
    calls: new Map(),
    requests: 0,
    refusedRequests: 0,
  }
}

const MINUTE_MILLISECONDS = 60_000

/** Takes one call of an account; false when none of `perMinute` is left in this minute. */
export function takeCall(
  { calls }: ConversionState,
  { account, at }: { account: string; at: Date },
  perMinute: number,
): boolean {
  const minute = Math.floor(at.getTime() / MINUTE_MILLISECONDS)
  const used = calls.get(account)
  const count = used?.minute === minute ? used.count : 0
  calls.set(account, { minute, count: count + 1 })
  return count < perMinute
}

interface Keeping {
  account: string
  event: unknown
  isTest: boolean
  receivedAt: Date
  /** By which copies are counted once. Null: each copy counts. */
  dedupKey: string | null
  /** How many are kept. */
  eventsMax: number
}

/** Keeps an event that was processed. */
export function keepEvent(part: ConversionState, kept: Keeping): void {
  const { account, event, isTest, receivedAt, dedupKey, eventsMax } = kept
  const key = dedupKey === null ? null : `${account} ${dedupKey}`
  const isDeduplicated = key !== null && part.counted.has(key)
  if (!isTest && key !== null) part.counted.add(key)
  part.receipts.push({ account, event, isTest, isDeduplicated, receivedAt })
  if (part.receipts.length > eventsMax) part.receipts.shift()
}
