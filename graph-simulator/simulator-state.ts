import type { DatasetTallies } from './dataset-tallies.ts'
import type { FaultBook } from './fault-book.ts'
import type { ReceivedEvents } from './received-events.ts'

/** All that one running simulator remembers. It lives in memory and ends with the process. */
export interface SimulatorState {
  received: ReceivedEvents
  tallies: DatasetTallies
  faults: FaultBook
  revokedTokens: Set<string>
  now: () => Date
  startedAt: Date
}
