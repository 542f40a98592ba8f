import type { BenchPlan, Closers, DeliveryScenario } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { deliveryLoad } from './delivery-load.ts'
import { type DeliveryRound, measureDeliveryRound } from './delivery-round.ts'
import { describeMachine } from './machine.ts'
import { measureOutageRound, type OutageRound } from './outage-round.ts'

/** The rounds of each scenario; none of one that was left out. */
export interface DeliveryFigures {
  machine: string
  plain: DeliveryRound[]
  faults: DeliveryRound[]
  lanes: DeliveryRound[]
  outage: OutageRound[]
}

/** Empties a store full of waiting deliveries into the simulator, several times over. */
export async function measureDelivery(
  { delivery: plan }: BenchPlan,
  closers: Closers,
): Promise<DeliveryFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const drains = (scenario: DeliveryScenario) =>
    inRow(plan.rounds[scenario], () =>
      measureDeliveryRound(store, deliveryLoad(scenario, plan), closers),
    )
  return {
    machine: await describeMachine(store.database, store.dataDirectory),
    plain: await drains('plain'),
    faults: await drains('faults'),
    lanes: await drains('lanes'),
    outage: await inRow(plan.rounds.outage, () =>
      measureOutageRound(
        store,
        { ...deliveryLoad('outage', plan), outageSeconds: plan.outageSeconds },
        closers,
      ),
    ),
  }
}

/** One after the other: two at once would measure each other. */
async function inRow<Round>(count: number, measure: () => Promise<Round>): Promise<Round[]> {
  const rounds: Round[] = []
  while (rounds.length < count) rounds.push(await measure())
  return rounds
}
