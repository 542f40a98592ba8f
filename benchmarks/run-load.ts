import { randomBytes } from 'node:crypto'
import { forkProgram } from './forked-program.ts'
import type { LoadPlan, LoadResult } from './load-plan.ts'

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
