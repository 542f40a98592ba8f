/**
 * Seconds of a clock that only goes forward, whatever happens to the time of day. It has no date:
 * only the difference of two readings in one process means anything.
 */
export function steadySeconds(): number {
  return performance.now() / 1_000
}
