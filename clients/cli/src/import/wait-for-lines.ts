import { APITimeoutError, type Signalbox } from '@signalbox/sdk'
import type { CommandContext } from '../command-context.ts'
import { worstStatus } from '../commands/event-text.ts'
import { Progress } from '../output/progress.ts'

interface WaitInput {
  client: Signalbox
  ids: readonly string[]
  concurrency: number
  /** Milliseconds for all of them together. */
  timeout: number
}

/** Waits until deliveries are final. Returns status -> events; `pending` when the time ran out. */
export async function waitForLines(
  context: CommandContext,
  { client, ids, concurrency, timeout }: WaitInput,
): Promise<Record<string, number>> {
  const progress = new Progress(context, 'Delivering', ids.length)
  const counts: Record<string, number> = {}
  const deadline = performance.now() + timeout
  const queue = ids.values()
  const { signal } = context.host
  const work = async () => {
    for (const id of queue) {
      const status = await waitForOne(id)
      counts[status] = (counts[status] ?? 0) + 1
      progress.step('')
    }
  }
  const waitForOne = async (id: string) => {
    const remaining = Math.max(1, deadline - performance.now())
    try {
      const detail = await client.events.waitForDelivery(id, { signal, timeout: remaining })
      return worstStatus(detail) ?? 'no delivery'
    } catch (error) {
      if (error instanceof APITimeoutError) return 'pending'
      throw error
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  progress.end()
  return counts
}
