import type { DeliveryPlan, DeliveryScenario } from './bench-plan.ts'
import { type ScriptedFailure, scriptedFailures } from './scripted-failures.ts'

/** What a round of delivery has to bring to the simulator, and what stands in its way. */
export interface DeliveryLoad {
  events: number
  /** Trackers with one destination each; the events are dealt out among them. */
  lanes: number
  /** SIGNALBOX_DELIVERY_BATCH_MAX. */
  batchEvents: number
  failures: readonly ScriptedFailure[]
}

/** The default of SIGNALBOX_DELIVERY_BATCH_MAX. */
const BATCH_EVENTS = 1_000
/** One request in twenty means little among fifty: there are ten times as many. */
const FAULTS_BATCH_EVENTS = 100

export function deliveryLoad(scenario: DeliveryScenario, plan: DeliveryPlan): DeliveryLoad {
  const { events, throttlesMax } = plan
  const batchEvents = plan.batchEvents ?? BATCH_EVENTS
  const plain = { events, lanes: 1, batchEvents, failures: [] }
  switch (scenario) {
    case 'plain':
      return plain
    case 'faults': {
      const batchEvents = plan.batchEvents ?? FAULTS_BATCH_EVENTS
      const requests = Math.ceil(events / batchEvents)
      const failures = scriptedFailures({ requests, throttlesMax })
      return { ...plain, batchEvents, failures }
    }
    case 'lanes':
      return { ...plain, lanes: plan.lanes }
    case 'outage':
      return { ...plain, events: plan.outageEvents }
  }
}
