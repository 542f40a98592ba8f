/**
 * A repeatable sequence of numbers in [0, 1): the same seed gives the same faults in every run.
 * A 32-bit counter stepped by the golden ratio, its bits mixed by multiplication (MurmurHash3's
 * finalizer): uniform enough for fault injection, but not cryptographically secure.
 */
export function seededRandom(seed: number): () => number {
  let counter = seed >>> 0
  return () => {
    counter = (counter + 0x9e3779b9) >>> 0
    let mixed = counter
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}
