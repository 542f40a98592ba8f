import { setTimeout as delay } from 'node:timers/promises'

/** A pause between two attempts. */
export async function sleep(seconds: number): Promise<void> {
  await delay(seconds * 1_000)
}

const BATCH_PAUSE_SECONDS = 0.005

/** Between two batches of deletions, so that other statements get their locks and the disk. */
export const pauseBetweenBatches = () => sleep(BATCH_PAUSE_SECONDS)

/** Rejects with `error` unless the work ends in time. The work itself goes on. */
export async function rejectAfter<Result>(
  milliseconds: number,
  error: Error,
  work: Promise<Result>,
): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(error), milliseconds)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
