import type { EventDetail } from './contract.generated.ts'
import { APITimeoutError } from './errors.ts'
import { type Result, sleep } from './request.ts'
import type { CallOptions } from './settings.ts'

export interface WaitOptions extends Pick<CallOptions, 'signal'> {
  /** Whether a server sent the event or a browser; the first by default. */
  space?: 'secret' | 'publishable' | undefined
  /** Milliseconds until it gives up; 60,000 by default. */
  timeout?: number | undefined
}

const PENDING = new Set(['queued', 'sent', 'retrying'])
const FIRST_DELAY_MILLISECONDS = 500
const DELAY_MILLISECONDS_MAX = 5_000

/** Reads until no delivery is pending. A status of a later version counts as final. */
export async function waitForDelivery(
  read: (options: CallOptions) => Promise<Result<EventDetail>>,
  { timeout = 60_000, signal }: Omit<WaitOptions, 'space'>,
): Promise<Result<EventDetail>> {
  const deadline = performance.now() + timeout
  for (
    let delay = FIRST_DELAY_MILLISECONDS;
    ;
    delay = Math.min(delay * 2, DELAY_MILLISECONDS_MAX)
  ) {
    const detail = await read({ signal })
    if (!(detail.deliveries ?? []).some(({ status }) => PENDING.has(status))) return detail
    const remaining = deadline - performance.now()
    if (remaining <= 0)
      throw new APITimeoutError(`A delivery is still pending after ${timeout} ms.`)
    await sleep(Math.min(delay, remaining), signal)
  }
}
