import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MILLISECONDS = 20

export interface EventLoopDelay {
  /** Seconds by which the event loop was late in the middle case, since the last call. */
  readSeconds(): number
  close(): void
}

/**
 * Measures how late this process comes to what is ready. The median and not the 99th part of a
 * hundred: a second has fifty samples, of which one pause would be the worst.
 */
export function eventLoopDelay(): EventLoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  histogram.enable()
  let readAt = performance.now()

  const readSeconds = () => {
    const now = performance.now()
    // No sample at all: the loop has not come around since the last call.
    const milliseconds = histogram.count === 0 ? now - readAt : histogram.percentile(50) / 1e6
    histogram.reset()
    readAt = now
    return Math.max(0, milliseconds - RESOLUTION_MILLISECONDS) / 1_000
  }
  return { readSeconds, close: () => void histogram.disable() }
}
