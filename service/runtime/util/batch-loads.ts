import DataLoader from 'dataloader'

/** Values in the order of the keys. */
export type LoadMany<Value> = (keys: readonly string[]) => Promise<readonly Value[]>

/** Keys of one lookup: a statement with more of them would delay the first. */
const KEYS_MAX = 1_000

/**
 * Looks up all keys of one iteration of the event loop at once: with ten thousand trackers, nearly
 * every request misses the caches. Keys that share a lookup also share its failure, so keys of
 * trackers go through `batchLoadsByNode`.
 */
export function batchLoads<Value>(loadMany: LoadMany<Value>): (key: string) => Promise<Value> {
  const loader = new DataLoader(loadMany, {
    cache: false,
    maxBatchSize: KEYS_MAX,
    batchScheduleFn: dispatch => setImmediate(dispatch),
  })
  return key => loader.load(key)
}
