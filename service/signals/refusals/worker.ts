import { flushRefusals, type RefusalFlush } from './flush-refusals.ts'

const INTERVAL_MILLISECONDS = 5_000

export interface RefusalWorker {
  /** Stores what was counted since the last time. Never throws. */
  flush(): Promise<void>
  /** Stores the rest. */
  stop(): Promise<void>
}

/** Stores the counts of refusals every five seconds, without keeping the process alive. */
export function startRefusalWorker({
  onError,
  ...context
}: RefusalFlush & { onError: (error: unknown) => void }): RefusalWorker {
  let last = Promise.resolve()
  // One after another: a slow store must not collect connections.
  const flush = () => {
    last = last.then(() => flushRefusals(context).catch(onError))
    return last
  }
  const timer = setInterval(flush, INTERVAL_MILLISECONDS)
  timer.unref()
  const stop = () => {
    clearInterval(timer)
    return flush()
  }
  return { flush, stop }
}
