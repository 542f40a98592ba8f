import { setTimeout as delay } from 'node:timers/promises'

const MILLISECONDS_MIN = 20
const MILLISECONDS_MAX = 500
/** A look costs the store up to 2 ms, so it looks more seldom the longer the wait has been. */
const SHARE_OF_WAIT = 0.005

/** Asks until the answer is yes, or for so long. Returns the last answer. */
export async function pollUntil(
  isDone: () => Promise<boolean>,
  secondsMax: number,
): Promise<boolean> {
  const start = performance.now()
  while (!(await isDone())) {
    const waited = performance.now() - start
    if (waited >= secondsMax * 1_000) return false
    await delay(Math.min(Math.max(waited * SHARE_OF_WAIT, MILLISECONDS_MIN), MILLISECONDS_MAX))
  }
  return true
}
