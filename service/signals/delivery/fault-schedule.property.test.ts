import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { chooseSeeds } from '../../../testing/fixtures/seeded-random.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  createFaultSchedule,
  type FaultSchedule,
} from '../../../testing/simulation/delivery/fault-schedule.ts'
import {
  type DeliveryHistory,
  readDeliveryHistory,
  recordDeliveryTransitions,
} from '../../../testing/simulation/delivery/history.ts'
import { findInvariantViolations } from '../../../testing/simulation/delivery/invariants.ts'
import { simulateDelivery } from '../../../testing/simulation/delivery/run-simulation.ts'
import { findSentCountErrors } from '../../../testing/simulation/delivery/sent-count-invariants.ts'

const OWN_SEEDS = Array.from({ length: 25 }, (_, index) => index + 1)

async function runSchedule(test: TestContext, seed: number): Promise<string[]> {
  const schedule = createFaultSchedule(seed)
  const service = await startTestService(test, { batchMax: schedule.batchMax })
  await recordDeliveryTransitions(service.database)
  const result = await simulateDelivery(service, schedule, seed)
  const history = await readDeliveryHistory(service)
  const statuses = Object.entries(Object.groupBy(history.deliveries, ({ status }) => status))
  const counts = statuses.map(([status, { length }]) => `${length} ${status}`).join(', ')
  test.diagnostic(`seed ${seed}: ${schedule.steps.length} steps; ${counts}`)
  return [
    ...lostEvents(schedule, history),
    ...findInvariantViolations(history, result),
    ...result.sentAfterWithdrawal,
    ...result.untrueExplanations,
    ...(await findSentCountErrors(service, history)),
  ]
}

/** Every event was answered 202, so each has a delivery, and is worth what its tracker said. */
function lostEvents({ steps }: FaultSchedule, { deliveries }: DeliveryHistory): string[] {
  const actual = new Map(deliveries.map(({ eventId, valueAmount }) => [eventId, valueAmount]))
  return steps
    .flatMap(step => (step.step === 'submit' ? step.events : []))
    .filter(({ eventId, value }) => actual.get(eventId) !== value)
    .map(({ eventId, value }) => `${eventId}: worth ${value}, but stored as ${actual.get(eventId)}`)
}

for (const seed of chooseSeeds(OWN_SEEDS)) {
  it(`every event ends, none is sent again after acceptance, and all are counted and truly explained, under any faults (seed ${seed})`, async test => {
    const again = `SIGNALBOX_TEST_SEED=${seed} plays this again`
    const violations = await runSchedule(test, seed).catch(cause => {
      throw new Error(again, { cause })
    })
    assert.equal(violations.length, 0, `${again}:\n${violations.join('\n')}`)
  })
}
