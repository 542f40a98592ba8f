import { RuleInjector } from '../fault-injector.ts'
import {
  matchesPinterestRequest,
  type PinterestCandidate,
  type PinterestFaultRule,
} from './pinterest-faults.ts'

/** An event as an ad account received it. */
export interface PinterestReceipt {
  adAccount: string
  // biome-ignore lint/suspicious/noExplicitAny: it is the event as it was sent, after validation
  event: any
  isTest: boolean
  /** The account had it before, and counts it once. Never for offline events. */
  isDeduplicated: boolean
  receivedAt: Date
}

/** The state of the Pinterest part of the simulator, in memory only. */
export interface PinterestState {
  faults: RuleInjector<PinterestFaultRule, PinterestCandidate>
  /** The newest ones, oldest first. */
  receipts: PinterestReceipt[]
  /** Account and event ID of what is counted. */
  counted: Set<string>
  calls: Map<string, { minute: number; count: number }>
  requests: number
  refusedRequests: number
  eventsMax: number
}

export function createPinterestState(eventsMax: number): PinterestState {
  return {
    faults: new RuleInjector(matchesPinterestRequest),
    receipts: [],
    counted: new Set(),
    calls: new Map(),
    requests: 0,
    refusedRequests: 0,
    eventsMax,
  }
}

/** Forgets what was received; faults stay. Returns the number of receipts. */
export function clearPinterest(state: PinterestState): number {
  const forgotten = state.receipts.length
  state.receipts = []
  state.counted.clear()
  state.requests = 0
  state.refusedRequests = 0
  return forgotten
}

const CALLS_PER_MINUTE = 5_000
const MINUTE_MILLISECONDS = 60_000

/** Takes one call of an ad account; false when none is left in this minute. */
export function takeCall({ calls }: PinterestState, adAccount: string, at: Date): boolean {
  const minute = Math.floor(at.getTime() / MINUTE_MILLISECONDS)
  const used = calls.get(adAccount)
  const count = used?.minute === minute ? used.count : 0
  calls.set(adAccount, { minute, count: count + 1 })
  return count < CALLS_PER_MINUTE
}

/** Keeps an event that was processed. */
export function keepEvent(
  state: PinterestState,
  receipt: Omit<PinterestReceipt, 'isDeduplicated'>,
) {
  const { adAccount, event, isTest } = receipt
  const key = `${adAccount} ${event.event_id}`
  const isDeduplicated = event.action_source !== 'offline' && state.counted.has(key)
  if (!isTest) state.counted.add(key)
  state.receipts.push({ ...receipt, isDeduplicated })
  if (state.receipts.length > state.eventsMax) state.receipts.shift()
}
