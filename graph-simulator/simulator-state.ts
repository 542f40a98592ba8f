import type { DatasetTallies } from './dataset-tallies.ts'
import type { EventCounts } from './event-counts.ts'
import type { FaultBook } from './fault-book.ts'
import type { MatchKeyBook } from './match-key-book.ts'
import type { ReceivedEvents } from './received-events.ts'
import type { StatsOptions } from './stats-options.ts'

/** All that one running simulator remembers. It lives in memory and ends with the process. */
export interface SimulatorState {
  received: ReceivedEvents
  tallies: DatasetTallies
  /** What the stats edge shows, and how. */
  counts: EventCounts
  stats: StatsOptions
  /** What the dataset_quality edge shows. */
  matchKeys: MatchKeyBook
  faults: FaultBook
  revokedTokens: Set<string>
  now: () => Date
  startedAt: Date
}
