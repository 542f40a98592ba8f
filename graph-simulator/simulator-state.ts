import type { TotalsByDataset } from './dataset-totals.ts'
import type { EventCounts } from './event-counts.ts'
import type { FaultInjector } from './fault-injector.ts'
import type { MatchKeyCounts } from './match-keys.ts'
import type { PlatformStates } from './platform-parts.ts'
import type { ReceivedEvents } from './received-events.ts'
import type { StatsOptions } from './stats-options.ts'

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
