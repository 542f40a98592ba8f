/**
 * Seconds of a clock that only goes forward, whatever happens to the time of day. It has no date:
 * only the difference of two readings on one machine means anything. All threads of a process read
 * the same one; that of `performance` begins anew in each thread.
 */
export function monotonicSeconds(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds + nanoseconds / 1e9
}
