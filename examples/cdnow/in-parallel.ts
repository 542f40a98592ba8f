/** Runs `work` on every item, at most `atOnceMax` at a time, and keeps the order of the answers. */
export async function inParallel<Item, Answer>(
  items: readonly Item[],
  atOnceMax: number,
  work: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let next = 0
  const hand = async () => {
    while (next < items.length) {
      const index = next
      next += 1
      answers[index] = await work(items[index] as Item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, hand))
  return answers
}
