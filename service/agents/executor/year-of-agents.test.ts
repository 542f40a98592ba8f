// Full run only: simulates a year.
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { NO_CEILINGS, setPolicy } from '../../../testing/fixtures/agents.ts'
import { createExecutionFixture } from '../../../testing/fixtures/executions.ts'
import {
  type Change,
  CONNECTION_BUDGET_MINOR,
  createGreedyAgent,
  type GreedyAgent,
} from '../../../testing/simulation/agents/greedy-agent.ts'
import { DEFAULT_POLICY } from '../policy/policy-store.ts'

const YEAR_DAYS = 365

/** Automatic mode with these limits, and one agent whom no person watches. */
async function stage(test: TestContext, limits: Parameters<typeof setPolicy>[2]) {
  const fixture = await createExecutionFixture(test, 'ask', { isAlone: true })
  const agent = await createGreedyAgent(fixture)
  await setPolicy(fixture, 'auto_with_limits', limits)
  return { fixture, agent }
}

const DEFAULTS = DEFAULT_POLICY.limits
const EARLIER_DEFAULTS = { ...DEFAULTS, ...NO_CEILINGS }

/** As much as the limits of one day allow: 20 % and 50.00. */
async function raiseAll({ readCampaigns }: GreedyAgent, count: number): Promise<Change[]> {
  const campaigns = await readCampaigns()
  return campaigns.slice(0, count).map(({ id, daily_budget_minor }) => {
    const budget = daily_budget_minor ?? 0
    const budgetMinor = Math.min(Math.floor(budget * 1.2), budget + 5_000)
    return { type: 'increase_budget', id, budgetMinor }
  })
}

it('let one campaign grow from 100.00 to 1,498.59 in 30 days without the ceilings', async test => {
  const { agent } = await stage(test, EARLIER_DEFAULTS)
  for (let day = 0; day < 30; day += 1) await agent.runDay(await raiseAll(agent, 1))
  const [campaign] = await agent.readCampaigns()
  assert.equal(campaign?.daily_budget_minor, 149_859)
})

it('stops the growth of that campaign at 500.00 with the ceilings', async test => {
  const { agent } = await stage(test, DEFAULTS)
  for (let day = 0; day < 30; day += 1) await agent.runDay(await raiseAll(agent, 1))
  const [campaign] = await agent.readCampaigns()
  assert.equal(campaign?.daily_budget_minor, 49_859)
})

it('keeps a year of greedy raises within every window and ceiling', async test => {
  const { agent } = await stage(test, DEFAULTS)
  const changed: number[] = []
  for (let day = 0; day < YEAR_DAYS; day += 1) {
    const { executed, campaigns } = await agent.runDay(await raiseAll(agent, 4))
    changed.push(executed.reduce((sum, { changeMinor }) => sum + changeMinor, 0))
    for (const { daily_budget_minor } of campaigns) {
      assert.ok((daily_budget_minor ?? 0) <= 5 * CONNECTION_BUDGET_MINOR, `day ${day}`)
    }
    assert.ok(sumLast(changed, 7) <= 50_000, `week until day ${day}`)
    assert.ok(sumLast(changed, 30) <= 100_000, `month until day ${day}`)
  }
  const total = changed.reduce((sum, minor) => sum + minor, 0)
  test.diagnostic(`raised by ${total / 100} in a year`)
  // The agent was not only refused: it used up the first month.
  assert.ok(total >= 95_000)
})

function sumLast(days: readonly number[], count: number): number {
  return days.slice(-count).reduce((sum, minor) => sum + minor, 0)
}

it('never lets a year of greedy pauses stop the account', async test => {
  const { agent } = await stage(test, DEFAULTS)
  let pauses = 0
  for (let day = 0; day < YEAR_DAYS; day += 1) {
    const campaigns = await agent.readCampaigns()
    const changes = campaigns.map(({ id }): Change => ({ type: 'pause', id }))
    // From time to time a person resumes everything on the platform.
    if (day % 30 === 20) await agent.resumeElsewhere()
    const report = await agent.runDay(changes)
    pauses += report.executed.filter(({ type }) => type === 'pause').length
    const active = report.campaigns.filter(({ status }) => status === 'active')
    assert.ok(active.length >= 1, `day ${day}`)
    if (day < 20) assert.ok(active.length >= 2, `half of the spending on day ${day}`)
  }
  test.diagnostic(`${pauses} pauses without a person in a year`)
  assert.ok(pauses >= 4)
})

/** Without the totals of a week and a month, which would end it sooner in a small account. */
it('never lets 30 days of lower budgets or pauses take more than half of the spending', async test => {
  const { agent } = await stage(test, {
    ...DEFAULTS,
    weekly_total_minor_max: null,
    monthly_total_minor_max: null,
  })
  const totals = [4 * CONNECTION_BUDGET_MINOR]
  for (let day = 0; day < 120; day += 1) {
    const campaigns = await agent.readCampaigns()
    const changes = campaigns.flatMap(({ id, daily_budget_minor: budget }): Change[] => [
      { type: 'decrease_budget', id, budgetMinor: Math.ceil((budget ?? 0) * 0.8) },
      ...(day >= 40 ? [{ type: 'pause', id } as const] : []),
    ])
    const report = await agent.runDay(changes)
    const active = report.campaigns.filter(({ status }) => status === 'active')
    totals.push(active.reduce((sum, one) => sum + (one.daily_budget_minor ?? 0), 0))
    const [total = 0, monthAgo = 0] = [totals.at(-1), totals.at(-31) ?? totals[0]]
    assert.ok(total >= monthAgo / 2, `day ${day}: ${total} after ${monthAgo}`)
  }
  test.diagnostic(`active budgets: ${totals.join(', ')}`)
  assert.ok((totals.at(-1) ?? 0) < 2 * CONNECTION_BUDGET_MINOR, 'it stops what it may')
})
