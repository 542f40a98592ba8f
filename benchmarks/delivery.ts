import type { BenchPlan, Closers } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { type DeliveryRound, measureDeliveryRound } from './delivery-round.ts'
import { describeMachine } from './machine.ts'

export interface DeliveryFigures {
  machine: string
  rounds: DeliveryRound[]
}

/** Empties a store full of waiting deliveries into the simulator, several times over. */
export async function measureDelivery(
  { rounds, events }: BenchPlan,
  closers: Closers,
): Promise<DeliveryFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const measured: DeliveryRound[] = []
  for (let round = 0; round < rounds; round += 1) {
    measured.push(await measureDeliveryRound(store, events, closers))
  }
  return { machine, rounds: measured }
}
