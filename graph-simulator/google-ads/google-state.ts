import { RuleInjector } from '../fault-injector.ts'
import { Conversions, type EventOutcome } from './conversions.ts'
import {
  type GoogleCandidate,
  type GoogleFaultRule,
  matchesGoogleRequest,
} from './google-faults.ts'
import { DEFAULT_OPTIONS, type GoogleOptions } from './google-options.ts'
import { MintedTokens } from './token-endpoint.ts'
import type { IngestedEvent } from './validate-ingest.ts'

/** An event as one conversion action received it. */
export interface GoogleReceipt {
  account: string
  conversionAction: string
  event: IngestedEvent
  outcome: EventOutcome | null
  validateOnly: boolean
  requestId: string
  receivedAt: Date
}

/** A request whose result can be asked for, by destination. */
export interface GoogleRequest {
  receivedAt: Date
  destinations: DestinationResult[]
}

export interface DestinationResult {
  account: string
  reference: string | undefined
  conversionAction: string
  recordCount: number
  /** Reason -> number of events. */
  errors: Map<string, number>
}

export interface GoogleTotals {
  requests: number
  refusedRequests: number
  validatedRequests: number
}

/** The state of the Google Ads part of the simulator, in memory only. */
export interface GoogleState {
  faults: RuleInjector<GoogleFaultRule, GoogleCandidate>
  options: GoogleOptions
  tokens: MintedTokens
  budgets: RequestBudgets
  conversions: Conversions
  requests: Map<string, GoogleRequest>
  /** The newest ones, oldest first. */
  receipts: GoogleReceipt[]
  totals: GoogleTotals
  eventsMax: number
}

export function createGoogleState(eventsMax: number): GoogleState {
  return {
    faults: new RuleInjector(matchesGoogleRequest),
    options: DEFAULT_OPTIONS,
    tokens: new MintedTokens(),
    budgets: new RequestBudgets(),
    conversions: new Conversions(eventsMax),
    requests: new Map(),
    receipts: [],
    totals: { requests: 0, refusedRequests: 0, validatedRequests: 0 },
    eventsMax,
  }
}

/** Forgets what was received; tokens, faults and options stay. Returns the number of receipts. */
export function clearReceived(state: GoogleState): number {
  const forgotten = state.receipts.length
  state.receipts = []
  state.requests.clear()
  state.conversions.clear()
  state.totals = { requests: 0, refusedRequests: 0, validatedRequests: 0 }
  return forgotten
}

const MINUTE_MILLISECONDS = 60_000
const DAY_MILLISECONDS = 86_400_000

/** Requests by Cloud project in the minute and the day of the clock. */
export class RequestBudgets {
  readonly #used = new Map<
    string,
    { minute: number; inMinute: number; day: number; inDay: number }
  >()

  /** Takes one request of a project; false when nothing is left. */
  take(
    project: string,
    at: Date,
    { requests_per_minute, requests_per_day }: GoogleOptions,
  ): boolean {
    const minute = Math.floor(at.getTime() / MINUTE_MILLISECONDS)
    const day = Math.floor(at.getTime() / DAY_MILLISECONDS)
    const used = this.#used.get(project) ?? { minute, inMinute: 0, day, inDay: 0 }
    this.#used.set(project, used)
    if (used.minute !== minute) Object.assign(used, { minute, inMinute: 0 })
    if (used.day !== day) Object.assign(used, { day, inDay: 0 })
    if (used.inMinute >= requests_per_minute || used.inDay >= requests_per_day) return false
    used.inMinute += 1
    used.inDay += 1
    return true
  }
}
