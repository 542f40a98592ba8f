// Runs alone: it starts whole programs.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isShortRun } from '../fixtures/seeded-random.ts'
import { emptyFigures, runCampaign } from './campaign.ts'
import { formatCampaign } from './campaign-report.ts'
import { startInstallation } from './installation.ts'
import { runSchedule } from './run-schedule.ts'
import { createSchedule } from './schedule.ts'

/**
 * Five faults: the store loses a connection and its network, the platform fails, a clock steps.
 * One process, so that its start takes little of `npm test`; the campaign has one of each role.
 */
const SHORT = {
  seed: 319,
  length: 5,
  capabilities: { 'fill disk': false, 'promote standby': false },
}

it('loses and doubles nothing in a short schedule of faults', async test => {
  const installation = await startInstallation({ roles: ['all'] })
  test.after(installation.close)
  const schedule = createSchedule(SHORT.seed, SHORT)
  const options = {
    erasures: 0,
    endsLeases: true,
    onCycle: (line: string) => test.diagnostic(line),
  }
  const result = await runSchedule(installation, schedule, options)
  assert.deepEqual(result.violations, [])
  assert.ok(result.acknowledged > 0)
  test.diagnostic(`${result.acknowledged} events, ${result.retries} sent again by clients`)
})

it('loses and doubles nothing in two schedules with every role', {
  skip: isShortRun() && 'takes minutes',
  timeout: 900_000,
}, async test => {
  const installation = await startInstallation()
  test.after(installation.close)
  const print = (line: string) => test.diagnostic(line)
  const campaign = { cycles: 40, path: null, figures: emptyFigures(1), print }
  const figures = await runCampaign(installation, campaign)
  assert.deepEqual(figures.violations, {})
  assert.match(formatCampaign(figures), /^40 cycles in 2 schedules from seed 1, /)
})
