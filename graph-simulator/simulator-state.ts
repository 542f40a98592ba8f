import type { ConversionState } from './conversion-state.ts'
import type { TotalsByDataset } from './dataset-totals.ts'
import type { EventCounts } from './event-counts.ts'
import type { FaultInjector } from './fault-injector.ts'
import { createGoogleState, type GoogleState } from './google-ads/google-state.ts'
import type { HttpResponse } from './http-messages.ts'
import type { MatchKeyCounts } from './match-keys.ts'
import type { ReceivedEvents } from './received-events.ts'
import type { StatsOptions } from './stats-options.ts'
import { createWebhookState, type WebhookState } from './webhook/webhook-state.ts'

/** The state of one running simulator, in memory only. */
export interface SimulatorState extends PlatformStates {
  received: ReceivedEvents
  totals: TotalsByDataset
  /** What the stats edge returns, and how it counts. */
  counts: EventCounts
  stats: StatsOptions
  /** What the dataset_quality edge returns. */
  matchKeys: MatchKeyCounts
  faults: FaultInjector
  revokedTokens: Set<string>
  now: () => Date
  startedAt: Date
}

/** What the other platforms keep. They share only the clock and the revoked tokens. */
interface PlatformStates {
  google: GoogleState
  /** By platform. */
  conversions: Map<string, ConversionState>
  /** How many events each of them keeps. */
  eventsMax: number
  /** The endpoints of webhooks. */
  webhook: WebhookState
}

export function createPlatformStates(eventsMax: number): PlatformStates {
  return {
    google: createGoogleState(eventsMax),
    conversions: new Map(),
    eventsMax,
    webhook: createWebhookState(eventsMax),
  }
}

export interface ControlRequest {
  query: URLSearchParams
  /** The parsed JSON body; undefined when the request has none. */
  body: unknown
}

/** Handles one endpoint under /_simulator. */
export type ControlHandler = (state: SimulatorState, request: ControlRequest) => HttpResponse
