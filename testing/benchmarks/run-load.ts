import { randomBytes } from 'node:crypto'
import type { PeerPlan } from './bench-plan.ts'
import { forkProgram } from './child-processes.ts'

const ANSWER_SECONDS_MAX = 60

/** Sends purchases from a separate process and returns the result. */
export async function runLoad(plan: Omit<LoadPlan, 'mark'>): Promise<LoadResult> {
  const order: LoadPlan = { ...plan, mark: randomBytes(6).toString('hex') }
  const generator = await forkProgram({
    program: 'load-generator.ts',
    order,
    answerSecondsMax: plan.warmUpSeconds + plan.seconds + ANSWER_SECONDS_MAX,
  })
  await generator.stop()
  return generator.message as LoadResult
}

/** The plan of one run of the load generator. */
export interface LoadPlan {
  origin: string
  trackerSecret: string
  /** Secrets of equal length that the purchases use in turn, instead of `trackerSecret`. */
  trackerSecrets?: readonly string[]
  /** Each connection has one request in flight and sends the next after the response. */
  connections: number
  /** Requests of the warm-up count as sent, but not for speed. */
  warmUpSeconds: number
  /** The warm-up also lasts until this many requests were sent. */
  warmUpRequests?: number
  seconds: number
  /** After the warm-up, how many of a hundred requests repeat a purchase that was acknowledged. */
  duplicatePercent?: number
  /** The maximum number of requests per second; unlimited by default. */
  perSecondMax?: number
  /** The size of every body; by default that of a purchase. */
  bodyBytes?: number
  /** Purchases in a request of createEvents; by default each is a request of createEvent. */
  batchEvents?: number
  /** Requests for another endpoint, without our path and our credential. */
  peer?: PeerPlan | null | undefined
  /** Twelve hexadecimal digits, common to all IDs of this run and unique to it. */
  mark: string
}

/** The result. `answers` includes the warm-up; the speed does not. */
export interface LoadResult {
  eventsPerSecond: number
  p50Milliseconds: number
  p99Milliseconds: number
  maxMilliseconds: number
  /** HTTP status -> number of responses; of batches, of results of events. */
  answers: Record<string, number>
  /** Broken connections. */
  brokenCount: number
  requestBytes: number
  /** CPU time of the generator. */
  cpuSeconds: number
}
