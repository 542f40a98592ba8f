import { setTimeout as delay } from 'node:timers/promises'

/** A pause between two attempts. */
export async function sleep(seconds: number): Promise<void> {
  await delay(seconds * 1_000)
}
