import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { MONTH_STARTS_AT } from '../../testing/month/month-calendar.ts'
import { monthPlan } from '../../testing/month/month-plan.ts'
import { wrongReports } from '../../testing/month/month-reports.ts'
import { missingTroubles, wrongArrivals, wrongMoney } from '../../testing/month/month-sales.ts'
import { advisedKeys, wrongSnapshots } from '../../testing/month/month-snapshots.ts'
import type { MonthStory } from '../../testing/month/month-story.ts'
import { wrongTable } from '../../testing/month/month-table.ts'
import { playMonth } from '../../testing/month/play-month.ts'
import { testSeeds } from '../../testing/seeded-choices.ts'
import { serviceUnderTest } from '../../testing/service-under-test.ts'

/** With the first seed the platform counts one copy of an event, with the second every copy. */
const OWN_SEEDS = [1, 2]

async function playSeed(test: TestContext, seed: number) {
  const plan = monthPlan(seed)
  const { batchMax } = plan
  const service = await serviceUnderTest(test, { startAt: MONTH_STARTS_AT, batchMax })
  const story = await playMonth(service, plan)
  const kinds = Object.entries(Object.groupBy(plan.days, ({ kind }) => kind))
  const days = kinds.map(([kind, { length }]) => `${length} ${kind}`).join(', ')
  test.diagnostic(`${story.events.length} events, ${story.editions.length} reports; ${days}`)
  return { service, story }
}

/** The first shop's snapshots of a range of days, oldest first. */
function snapshotsOf({ shops, snapshots }: MonthStory, from: string, until: string) {
  const ofShop = snapshots.get(shops[0]?.datasetId ?? '') ?? []
  return ofShop
    .filter(({ measured_at }) => measured_at >= from && measured_at < `${until}T24`)
    .toReversed()
}

/** Email and click IDs were added on the 15th; email was removed on the 24th. */
function assertScoreFollowsKeys(story: MonthStory): void {
  const rising = snapshotsOf(story, '2026-10-15', '2026-10-22')
  const scores = rising.map(({ score }) => score)
  assert.deepEqual(
    scores,
    [...new Set(scores)].sort((a, b) => a - b),
    'it rises day by day',
  )
  assert.ok(scores.at(-1) - scores[0] > 3 && rising.at(-1).week_over_week_change > 3)
  const beforeFall = snapshotsOf(story, '2026-10-01', '2026-10-24')
  assert.ok(beforeFall.length > 20 && beforeFall.every(({ alerted }) => alerted === false))
  assert.deepEqual(advisedKeys(story, '2026-10-14'), ['em'])
  assert.ok(!advisedKeys(story, '2026-10-23').includes('em'))
  assert.deepEqual(advisedKeys(story, '2026-11-01'), ['em'])

  const [alert, ...more] = story.alerts
  assert.deepEqual(more, [])
  assert.equal(alert?.kind, 'emq_fell')
  assert.match(alert.sentence, /^The event match quality fell by [\d.]+ to [\d.]+ .* have em than/)
  const [raised, resolved] = story.alertMoves
  assert.deepEqual(
    [raised?.transition, resolved?.transition, story.alertMoves.length],
    ['raised', 'resolved', 2],
  )
}

// Each simulation waits for its store half of the time.
describe('thirty days of two shops', { concurrency: true }, () => {
  for (const seed of testSeeds(OWN_SEEDS)) {
    it(`makes reports that match the simulated facts, and scores that follow (seed ${seed})`, async test => {
      const again = `SIGNALBOX_TEST_SEED=${seed} plays this again`
      const { service, story } = await playSeed(test, seed).catch(cause => {
        throw new Error(again, { cause })
      })
      const faults = [
        ...wrongArrivals(story),
        ...(await wrongMoney(service, story)),
        ...wrongReports(story),
        ...wrongSnapshots(story),
        ...missingTroubles(story),
        ...(await wrongTable(service, story)),
      ]
      assert.equal(faults.length, 0, `${again}:\n${faults.join('\n')}`)
      assertScoreFollowsKeys(story)
    })
  }
})
