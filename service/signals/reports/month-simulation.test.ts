// Full run only: simulates a month.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { chooseSeeds } from '../../../testing/fixtures/seeded-random.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  findArrivalErrors,
  findMissingScenarios,
  findRevenueErrors,
} from '../../../testing/simulation/month/arrival-checks.ts'
import { MONTH_STARTS_AT } from '../../../testing/simulation/month/calendar.ts'
import type { MonthHistory } from '../../../testing/simulation/month/history.ts'
import {
  findSnapshotErrors,
  readAdvisedKeys,
} from '../../../testing/simulation/month/match-quality-checks.ts'
import { createMonthPlan } from '../../../testing/simulation/month/plan.ts'
import {
  findReportErrors,
  findTableErrors,
} from '../../../testing/simulation/month/report-checks.ts'
import { simulateMonth } from '../../../testing/simulation/month/run-simulation.ts'

/** With the first seed the platform counts one copy of an event, with the second every copy. */
const OWN_SEEDS = [1, 2]

async function simulateSeed(test: TestContext, seed: number) {
  const plan = createMonthPlan(seed)
  const { batchMax } = plan
  const service = await startTestService(test, { startAt: MONTH_STARTS_AT, batchMax })
  const history = await simulateMonth(service, plan)
  const kinds = Object.entries(Object.groupBy(plan.days, ({ kind }) => kind))
  const days = kinds.map(([kind, { length }]) => `${length} ${kind}`).join(', ')
  test.diagnostic(`${history.events.length} events, ${history.editions.length} reports; ${days}`)
  return { service, history }
}

/** The first shop's snapshots of a range of days, oldest first. */
function snapshotsOf({ shops, snapshots }: MonthHistory, from: string, until: string) {
  const ofShop = snapshots.get(shops[0]?.datasetId ?? '') ?? []
  return ofShop
    .filter(({ measured_at }) => measured_at >= from && measured_at < `${until}T24`)
    .toReversed()
}

/** Email and click IDs were added on the 15th; email was removed on the 24th. */
function assertScoreFollowsKeys(history: MonthHistory): void {
  const rising = snapshotsOf(history, '2026-10-15', '2026-10-22')
  const scores = rising.map(({ score }) => score)
  assert.deepEqual(
    scores,
    [...new Set(scores)].sort((a, b) => a - b),
    'it rises day by day',
  )
  assert.ok(scores.at(-1) - scores[0] > 3 && rising.at(-1).week_over_week_change > 3)
  const beforeFall = snapshotsOf(history, '2026-10-01', '2026-10-24')
  assert.ok(beforeFall.length > 20 && beforeFall.every(({ alerted }) => alerted === false))
  assert.deepEqual(readAdvisedKeys(history, '2026-10-14'), ['em'])
  assert.ok(!readAdvisedKeys(history, '2026-10-23').includes('em'))
  assert.deepEqual(readAdvisedKeys(history, '2026-11-01'), ['em'])

  const [alert, ...more] = history.alerts
  assert.deepEqual(more, [])
  assert.equal(alert?.kind, 'emq_fell')
  assert.match(alert.sentence, /^The event match quality fell by [\d.]+ to [\d.]+ .* have em than/)
  const [raised, resolved] = history.alertChanges
  assert.deepEqual(
    [raised?.transition, resolved?.transition, history.alertChanges.length],
    ['raised', 'resolved', 2],
  )
}

// Each simulation waits for its store half of the time.
describe('thirty days of two shops', { concurrency: true }, () => {
  for (const seed of chooseSeeds(OWN_SEEDS)) {
    it(`makes reports that match the simulated facts, and scores that follow (seed ${seed})`, async test => {
      const again = `SIGNALBOX_TEST_SEED=${seed} plays this again`
      const { service, history } = await simulateSeed(test, seed).catch(cause => {
        throw new Error(again, { cause })
      })
      const faults = [
        ...findArrivalErrors(history),
        ...(await findRevenueErrors(service, history)),
        ...findReportErrors(history),
        ...findSnapshotErrors(history),
        ...findMissingScenarios(history),
        ...(await findTableErrors(service, history)),
      ]
      assert.equal(faults.length, 0, `${again}:\n${faults.join('\n')}`)
      assertScoreFollowsKeys(history)
    })
  }
})
