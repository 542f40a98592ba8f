/** Shares one piece of work: who asks while it is under way gets the same result. */
export function singleFlight<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let underWay: Promise<Value> | null = null
  return () => {
    underWay ??= work().finally(() => {
      underWay = null
    })
    return underWay
  }
}
