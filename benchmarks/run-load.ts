import { randomBytes } from 'node:crypto'
import { forkProgram } from './child-processes.ts'

const ANSWER_SECONDS_MAX = 60

/** Sends purchases from a process of its own and returns what came back. */
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

/** What one run of the load generator is asked for. */
export interface LoadPlan {
  origin: string
  trackerSecret: string
  /** Each has one request in flight and sends the next one when the answer is there. */
  connections: number
  /** Requests of this time count as sent, but not for speed. */
  warmUpSeconds: number
  seconds: number
  /** So many requests a second at most; as many as there are answers when it is left out. */
  perSecondMax?: number
  /** Every body has so many bytes; those of a purchase when it is left out. */
  bodyBytes?: number
  /** Twelve hexadecimal digits of every id in this run, so that no two runs send one id. */
  mark: string
}

/** What came back. `answers` covers the warm-up too; the speed is that of the time after it. */
export interface LoadResult {
  eventsPerSecond: number
  p50Milliseconds: number
  p99Milliseconds: number
  maxMilliseconds: number
  /** HTTP status -> answers. */
  answers: Record<string, number>
  /** Connections that broke. */
  brokenCount: number
  requestBytes: number
  /** Processor time of the generator itself. */
  cpuSeconds: number
}
