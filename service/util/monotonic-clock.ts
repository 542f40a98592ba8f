/**
 * Seconds of a clock that never goes backward. Only the difference between two readings on one
 * machine is meaningful. All threads of a process read the same clock, whereas `performance.now()`
 * starts at zero in each thread.
 */
export function monotonicSeconds(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds + nanoseconds / 1e9
}
