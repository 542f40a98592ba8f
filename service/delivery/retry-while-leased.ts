import { isStoreUnavailable } from '../db/store-availability.ts'
import { pauseFor } from '../db/wait-until.ts'
import { steadySeconds } from './steady-seconds.ts'

export interface LeasedTime {
  /** On this process's steady clock. */
  leaseEndsAtSeconds: number
  isStopping?: (() => boolean) | undefined
  /** For counting. */
  onRetry?: (() => void) | undefined
}

const PAUSE_SECONDS_MIN = 0.05
const PAUSE_SECONDS_MAX = 1
/** A write that began later would find the rows in the hands of another worker. */
const MARGIN_SECONDS = 1
/** A process that is told to end has half a minute for everything. */
const STOPPING_SECONDS_MAX = 5

/** A transaction that PostgreSQL took back for the sake of another one: 40001 and 40P01. */
const TAKEN_BACK = new Set<unknown>(['40001', '40P01'])

/**
 * Writes to the store, again and again while it is out of reach and the lease lasts. Between the
 * platform's answer and its settlement a broken connection would otherwise send every event of the
 * request once more. Nobody knows whether a write was committed whose connection broke, so `write`
 * has to be one that changes nothing the second time.
 */
export async function retryWhileLeased<Result>(
  write: () => Promise<Result>,
  { leaseEndsAtSeconds, isStopping, onRetry }: LeasedTime,
): Promise<Result> {
  const startedAt = steadySeconds()
  let pauseSeconds = PAUSE_SECONDS_MIN
  for (;;) {
    try {
      return await write()
    } catch (error) {
      const lastAt = leaseEndsAtSeconds - MARGIN_SECONDS
      const endsAt = isStopping?.() ? Math.min(lastAt, startedAt + STOPPING_SECONDS_MAX) : lastAt
      if (!mayPass(error) || steadySeconds() + pauseSeconds > endsAt) throw error
    }
    onRetry?.()
    await pauseFor(pauseSeconds)
    pauseSeconds = Math.min(pauseSeconds * 2, PAUSE_SECONDS_MAX)
  }
}

function mayPass(error: unknown): boolean {
  return isStoreUnavailable(error) || TAKEN_BACK.has((error as { code?: unknown }).code)
}
