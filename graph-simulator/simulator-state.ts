import type { TotalsByDataset } from './dataset-totals.ts'
import type { EventCounts } from './event-counts.ts'
import type { FaultInjector } from './fault-injector.ts'
import type { GoogleState } from './google-ads/google-state.ts'
import type { MatchKeyCounts } from './match-keys.ts'
import type { ReceivedEvents } from './received-events.ts'
import type { StatsOptions } from './stats-options.ts'
import type { WebhookState } from './webhook/webhook-state.ts'

/** The state of one running simulator, in memory only. */
export interface SimulatorState {
  received: ReceivedEvents
  totals: TotalsByDataset
  /** What the stats edge returns, and how it counts. */
  counts: EventCounts
  stats: StatsOptions
  /** What the dataset_quality edge returns. */
  matchKeys: MatchKeyCounts
  faults: FaultInjector
  /** Google Ads, which shares only the clock and the revoked tokens with the Graph API. */
  google: GoogleState
  /** The endpoints of webhooks. */
  webhook: WebhookState
  revokedTokens: Set<string>
  now: () => Date
  startedAt: Date
}
