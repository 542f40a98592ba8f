const MINUTE = 60
const HOUR = 3_600

/** Waits after the first, second, ... attempt that failed (decisions section 5). */
const SCHEDULE_SECONDS = [
  5,
  30,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
]
const JITTER = 0.2

export interface Backoff {
  /** Attempts since it was planned or last replayed, this one included. */
  attemptsInRow: number
  /** What the platform itself asked for, in seconds; 0 when it asked for nothing. */
  waitSecondsMin: number
  /** From 0 to 1; spreads the retries of a batch, so that they do not come back as one wave. */
  chance: number
}

/** How long to wait before the next attempt, in seconds. */
export function backoffSeconds({ attemptsInRow, waitSecondsMin, chance }: Backoff): number {
  const step = Math.min(Math.max(attemptsInRow, 1), SCHEDULE_SECONDS.length) - 1
  const planned = (SCHEDULE_SECONDS[step] ?? 0) * (1 - JITTER + 2 * JITTER * chance)
  return Math.max(planned, waitSecondsMin)
}
