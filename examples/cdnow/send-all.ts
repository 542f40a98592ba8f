import { inParallel } from './in-parallel.ts'
import type { Progress } from './progress.ts'
import type { Credentials } from './read-credentials.ts'
import { type Answer, submitEvent } from './submit-event.ts'

export interface Sending {
  credentials: Credentials
  /** Requests in flight at once. */
  atOnceMax: number
  progress: Progress
}

const REPEATED_EVERY = 10

/**
 * Sends every event, and every tenth one a second time right behind the first, so that the two
 * race each other as a browser's and a server's copy do. Answers in the order of sending.
 */
export function sendAll(
  events: readonly { event_id: string }[],
  { credentials, atOnceMax, progress }: Sending,
): Promise<Answer[]> {
  return inParallel(withRepeats(events), atOnceMax, async event => {
    const answer = await submitEvent(credentials, event)
    progress.step()
    return answer
  })
}

export function withRepeats<Item>(items: readonly Item[]): Item[] {
  return items.flatMap((item, index) =>
    (index + 1) % REPEATED_EVERY === 0 ? [item, item] : [item],
  )
}
