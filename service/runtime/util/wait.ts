import { setTimeout as delay } from 'node:timers/promises'

/** A pause between two attempts. */
export async function sleep(seconds: number): Promise<void> {
  await delay(seconds * 1_000)
}

const BATCH_PAUSE_SECONDS = 0.005

/** Between two batches of deletions, so that other statements get their locks and the disk. */
export const pauseBetweenBatches = () => sleep(BATCH_PAUSE_SECONDS)
