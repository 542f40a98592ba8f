import { setTimeout as delay } from 'node:timers/promises'

/** A pause, such as that between two attempts. */
export async function sleep(seconds: number): Promise<void> {
  await delay(seconds * 1_000)
}

const BATCH_PAUSE_SECONDS = 0.005

/** Between two batches of deletions, so that other statements get their locks and the disk. */
export const pauseBetweenBatches = () => sleep(BATCH_PAUSE_SECONDS)

/**
 * Rejects with the error of `createError` unless the work ends in time. The work itself goes on.
 * Almost all work ends in time, so the error is made only when it does not: its stack costs more
 * than the timer.
 */
export function rejectAfter<Result>(
  milliseconds: number,
  createError: () => Error,
  work: Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(createError()), milliseconds)
    work.then(
      result => {
        clearTimeout(timer)
        resolve(result)
      },
      error => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
