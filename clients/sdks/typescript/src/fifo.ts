/** Taken items are forgotten together, when they are this many and half of the list. */
const FORGOTTEN_MIN = 64

/**
 * A list that is taken from at the front. With 100,000 items, taking the first of an array copies
 * all others, and a Map walks over every entry that was deleted before it.
 */
export class Fifo<Item> {
  #items: (Item | undefined)[]
  #start = 0

  constructor(items: readonly Item[] = []) {
    this.#items = [...items]
  }

  get size(): number {
    return this.#items.length - this.#start
  }

  get first(): Item | undefined {
    return this.#items[this.#start]
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  shift(): Item | undefined {
    const item = this.first
    if (this.size === 0) return undefined
    this.#items[this.#start] = undefined
    this.#start += 1
    if (this.#start >= FORGOTTEN_MIN && this.#start * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#start)
      this.#start = 0
    }
    return item
  }

  *[Symbol.iterator](): Generator<Item> {
    for (let at = this.#start; at < this.#items.length; at += 1) yield this.#items[at] as Item
  }
}
