/** Does all of it, so many at a time: a connection is not waited for longer than five seconds. */
export async function fewAtATime<Item>(
  items: readonly Item[],
  atATime: number,
  act: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await act(item)
  }
  await Promise.all(Array.from({ length: atATime }, worker))
}
