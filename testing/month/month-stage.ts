import type { AlertTransition } from '../../service/reports/alert-store.ts'
import type { Reply, ServiceUnderTest } from '../service-under-test.ts'
import type { MonthEvent } from './month-events.ts'
import type { Edition, JobMoment, ToldEvent, ToldOthers, ToldShop } from './month-story.ts'

/** Where the month is played, and what was seen of it so far. */
export interface MonthStage {
  service: ServiceUnderTest
  shops: readonly [ToldShop, ToldShop]
  events: ToldEvent[]
  others: ToldOthers[]
  pixelAt: Map<string, Date>
  jobs: JobMoment[]
  editions: Edition[]
  alertMoves: AlertTransition[]
  /** Requests as they were made, to be made again. */
  bodies: Map<MonthEvent, Record<string, unknown>>
  /** Customers of the first shop of whom nothing may be sent any more. */
  forgotten: Set<string>
}

/** Moves the clock on to a moment. */
export function goTo({ service: { clock } }: MonthStage, at: Date): void {
  clock.forward((at.getTime() - clock.now().getTime()) / 1_000)
}

export function requireStatus({ status, text }: Reply, ...expected: number[]): void {
  if (!expected.includes(status)) throw new Error(`answered ${status}: ${text}`)
}
