import { seededRandom } from '@signalbox/graph-simulator/seeded-random.ts'

/** Choices that come out the same again from the same seed. */
export interface SeededChoices {
  /** From 0 to 1, 1 not included. */
  chance(): number
  /** A whole number, both ends included. */
  integer(minimum: number, maximum: number): number
  pick<Item>(items: readonly Item[]): Item
  /** The higher its weight beside the others, the more often a name comes. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name
}

export function seededChoices(seed: number): SeededChoices {
  const chance = seededRandom(seed)
  const integer = (minimum: number, maximum: number) =>
    minimum + Math.floor(chance() * (maximum - minimum + 1))
  const pick = <Item>(items: readonly Item[]): Item => {
    if (items.length === 0) throw new RangeError('there is nothing to pick from')
    return items[integer(0, items.length - 1)] as Item
  }
  const weighted = <Name extends string>(weights: Readonly<Record<Name, number>>): Name => {
    const names = Object.keys(weights) as Name[]
    return pick(names.flatMap(name => Array<Name>(weights[name]).fill(name)))
  }
  return { chance, integer, pick, weighted }
}

/**
 * The seeds of a property test: all of its own in a full run and for a single file, the first one in
 * `npm test`, or the one that SIGNALBOX_TEST_SEED names to repeat a failure.
 */
export function testSeeds(ownSeeds: readonly number[]): readonly number[] {
  const named = process.env.SIGNALBOX_TEST_SEED
  if (named === undefined || named === '') return isShortRun() ? ownSeeds.slice(0, 1) : ownSeeds
  if (/^\d{1,9}$/.test(named)) return [Number(named)]
  throw new RangeError('SIGNALBOX_TEST_SEED must be a whole number of at most nine digits.')
}

/** Whether this is `npm test`, which runs a small part of each long proof. */
export function isShortRun(): boolean {
  return process.env.SIGNALBOX_TEST_EXTENT === 'short'
}
