/** Wraps `work` so that concurrent callers share one run and its result. */
export function singleFlight<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let current: Promise<Value> | null = null
  return () => {
    current ??= work().finally(() => {
      current = null
    })
    return current
  }
}
