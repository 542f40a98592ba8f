import { setTimeout as delay } from 'node:timers/promises'

export interface Patience {
  secondsMax: number
  everyMilliseconds: number
}

/** For a pause between two tries. */
export async function pauseFor(seconds: number): Promise<void> {
  await delay(seconds * 1_000)
}

/** Asks again and again until the answer is yes (true) or patience ends (false). */
export async function waitUntil(
  isSo: () => boolean | Promise<boolean>,
  patience: Patience,
): Promise<boolean> {
  const asksMax = Math.ceil((patience.secondsMax * 1000) / patience.everyMilliseconds)
  for (let asks = 0; asks < asksMax; asks += 1) {
    if (await isSo()) return true
    await delay(patience.everyMilliseconds)
  }
  return isSo()
}
