import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { auditDeliveries } from '../../testing/delivery-audit.ts'
import { brokenPromises } from '../../testing/delivery-promises.ts'
import { rehearse } from '../../testing/delivery-rehearsal.ts'
import { deliverySchedule, type Schedule } from '../../testing/delivery-schedule.ts'
import { type DeliveryStory, readStory } from '../../testing/delivery-story.ts'
import { testSeeds } from '../../testing/seeded-choices.ts'
import { wrongSentCounts } from '../../testing/sent-count-audit.ts'
import { serviceUnderTest } from '../../testing/service-under-test.ts'

const OWN_SEEDS = Array.from({ length: 25 }, (_, index) => index + 1)

async function playSchedule(test: TestContext, seed: number): Promise<string[]> {
  const schedule = deliverySchedule(seed)
  const service = await serviceUnderTest(test, { batchMax: schedule.batchMax })
  await auditDeliveries(service.database)
  const rehearsal = await rehearse(service, schedule, seed)
  const story = await readStory(service)
  const statuses = Object.entries(Object.groupBy(story.deliveries, ({ status }) => status))
  const counts = statuses.map(([status, { length }]) => `${length} ${status}`).join(', ')
  test.diagnostic(`seed ${seed}: ${schedule.steps.length} steps; ${counts}`)
  return [
    ...lostEvents(schedule, story),
    ...brokenPromises(story, rehearsal),
    ...rehearsal.sentAfterWithdrawal,
    ...(await wrongSentCounts(service, story)),
  ]
}

/** Every event was answered 202, so each has a delivery, and is worth what its tracker said. */
function lostEvents({ steps }: Schedule, { deliveries }: DeliveryStory): string[] {
  const kept = new Map(deliveries.map(({ eventId, valueAmount }) => [eventId, valueAmount]))
  return steps
    .flatMap(step => (step.step === 'submit' ? step.events : []))
    .filter(({ eventId, value }) => kept.get(eventId) !== value)
    .map(({ eventId, value }) => `${eventId}: worth ${value}, and kept as ${kept.get(eventId)}`)
}

for (const seed of testSeeds(OWN_SEEDS)) {
  it(`every event ends, none is sent again after acceptance, and all are counted, under any faults (seed ${seed})`, async test => {
    const again = `SIGNALBOX_TEST_SEED=${seed} plays this again`
    const faults = await playSchedule(test, seed).catch(cause => {
      throw new Error(again, { cause })
    })
    assert.equal(faults.length, 0, `${again}:\n${faults.join('\n')}`)
  })
}
