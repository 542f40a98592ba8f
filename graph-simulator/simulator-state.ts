import type { TotalsByDataset } from './dataset-totals.ts'
import type { EventCounts } from './event-counts.ts'
import type { FaultInjector } from './fault-injector.ts'
import type { MatchKeyCounts } from './match-keys.ts'
import type { ReceivedEvents } from './received-events.ts'
import type { StatsOptions } from './stats-options.ts'

/** All that one running simulator remembers. It lives in memory and ends with the process. */
export interface SimulatorState {
  received: ReceivedEvents
  totals: TotalsByDataset
  /** What the stats edge shows, and how. */
  counts: EventCounts
  stats: StatsOptions
  /** What the dataset_quality edge shows. */
  matchKeys: MatchKeyCounts
  faults: FaultInjector
  revokedTokens: Set<string>
  now: () => Date
  startedAt: Date
}
