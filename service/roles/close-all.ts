/** Closes what was opened, the last first, and goes on when one of them fails. */
export async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers.toReversed()) {
    await close().catch(error => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not everything closed cleanly')
}
