import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  buildProposal,
  createAgentFixture,
  createExecutionPrincipal,
  FIXTURE_AUDIT_KEYS,
  type ProposedChange,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { TestClock } from '../../../testing/fixtures/test-clock.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import { openDatabase } from '../../runtime/db/database.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
import { proposeActions } from './propose-actions.ts'

/** An hour before the end of the day in Berlin, the time zone of the ad accounts. */
const LATE = '2026-11-21T22:00:00.000Z'
const AT_ONCE = 24

async function stageOf(test: TestContext, { startAt = LATE } = {}) {
  const { connectionString } = await createTestDatabase(test)
  const database = openDatabase({
    connectionString,
    connectionsMax: AT_ONCE,
    applicationName: 'signalbox test',
    onIdleError: () => {},
    // All wait for one lock, on a slow machine longer than a caller does.
    hasNoTimeouts: true,
  })
  test.after(() => database.close())
  const fixture = await createAgentFixture(database, { clock: new TestClock(startAt) })
  const principal = await resolvePrincipal(fixture)
  const propose = async (changes: ProposedChange[], by: AgentPrincipal = principal) => {
    const { actions } = await proposeActions(fixture.context, by, buildProposal(...changes))
    return actions
  }
  const codes = async (...changes: ProposedChange[]) =>
    (await propose(changes)).map(({ policyReasons }) =>
      policyReasons.map(({ code }) => code).join(),
    )
  return { ...fixture, fixture, propose, codes }
}

const by = (minor: number): ProposedChange => ({
  type: 'increase_budget',
  entity: 1,
  budgetMinor: 10_000 + minor,
})

it('counts increases and decreases of the day towards its total', async test => {
  const { fixture, codes } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits', { daily_total_minor_max: 1_000 })
  assert.deepEqual(await codes(by(600)), ['within_limits'])
  assert.deepEqual(await codes(by(401)), ['daily_total_exceeded'])
  const down = { type: 'decrease_budget', entity: 2, budgetMinor: 3_600 } as const
  assert.deepEqual(await codes(down), ['within_limits'])
  assert.deepEqual(await codes(by(1)), ['daily_total_exceeded'])
  assert.deepEqual(await codes({ type: 'pause', entity: 3 }), ['within_limits'])
})

it('counts actions without a budget change towards the daily number', async test => {
  const { fixture, codes } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits', { actions_per_day_max: 2 })
  const pause = { type: 'pause', entity: 3 } as const
  assert.deepEqual(await codes(pause), ['within_limits'])
  assert.deepEqual(await codes(pause, by(1)), ['within_limits', 'actions_per_day_exceeded'])
  assert.deepEqual(await codes(by(1)), ['actions_per_day_exceeded'])
})

it('counts earlier actions of a proposal, except blocked ones', async test => {
  const { fixture, propose, codes } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits', {
    daily_total_minor_max: 1_000,
    actions_per_day_max: 2,
    change_minor_max: 800,
  })
  const set = (minor: number) =>
    ({ type: 'increase_budget', entity: 2, budgetMinor: 4_000 + minor }) as const
  const impossible = { type: 'resume', entity: 3 } as const
  assert.deepEqual(await codes(impossible, by(900), set(200)), [
    'already_active',
    'change_amount_exceeded',
    'daily_total_exceeded',
  ])
  const actions = await propose([impossible, by(600), set(400)])
  assert.deepEqual(
    actions.map(({ status, policyEvidence: { changed_today_minor, actions_today } }) => [
      ...[status, changed_today_minor, actions_today],
    ]),
    [
      ['blocked', 0, 0],
      ['executing', 0, 0],
      ['executing', 600, 1],
    ],
  )
})

it('uses the time zone of the ad account', async test => {
  const { fixture, codes, clock } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits', { daily_total_minor_max: 1_000 })
  assert.deepEqual(await codes(by(1_000)), ['within_limits'])
  clock.advance(HOUR_SECONDS - 1)
  assert.deepEqual(await codes(by(1)), ['daily_total_exceeded'])
  clock.advance(1)
  // Midnight in Berlin.
  assert.deepEqual(await codes(by(1_000)), ['within_limits'])
  clock.advance(HOUR_SECONDS)
  // Midnight in UTC does not start a day.
  assert.deepEqual(await codes(by(1)), ['daily_total_exceeded'])
})

it('has one total for a day of 25 hours', async test => {
  const { fixture, codes, clock } = await stageOf(test, { startAt: '2026-10-24T22:00:00.000Z' })
  await setPolicy(fixture, 'auto_with_limits', { daily_total_minor_max: 1_000 })
  assert.deepEqual(await codes(by(1_000)), ['within_limits'])
  clock.advance(25 * HOUR_SECONDS - 1)
  assert.deepEqual(await codes(by(1)), ['daily_total_exceeded'])
  clock.advance(1)
  assert.deepEqual(await codes(by(1_000)), ['within_limits'])
})

it('keeps the daily limits under concurrent proposals', async test => {
  const { fixture, propose, database, workspaceId, clock } = await stageOf(test)
  const limits = [
    [{ daily_total_minor_max: 5_000 }, 7],
    [{ actions_per_day_max: 10 }, 3],
  ] as const
  for (const [limit, expected] of limits) {
    await setPolicy(fixture, 'auto_with_limits', limit)
    const tries = Array.from({ length: AT_ONCE }, () => propose([by(700)]))
    const statuses = (await Promise.all(tries)).flat().map(({ status }) => status)
    assert.equal(statuses.filter(status => status === 'executing').length, expected)
    assert.equal(statuses.filter(status => status === 'pending').length, AT_ONCE - expected)
  }
  const { rows } = await database.pool.query(
    `select sum(change_minor)::integer as sum from agent_actions
     where execution_started_at is not null`,
  )
  assert.equal(rows[0].sum, 7_000)
  const chain = await verifyChain(database, FIXTURE_AUDIT_KEYS, { workspaceId, now: clock.now() })
  assert.equal(chain.is_intact, true, chain.finding)
})

it('counts each ad account separately, also concurrently', async test => {
  const { fixture, propose, otherAccountId, adAccountId } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits', { daily_total_minor_max: 1_400 })
  const other = await createExecutionPrincipal(fixture, { account: otherAccountId })
  const tries = Array.from({ length: AT_ONCE }, (_, at) =>
    at % 2 === 0 ? propose([by(700)]) : propose([by(700)], other),
  )
  const begun = (await Promise.all(tries)).flat().filter(({ status }) => status === 'executing')
  for (const account of [adAccountId, otherAccountId]) {
    assert.equal(begun.filter(action => action.adAccountId === account).length, 2)
  }
})

it('applies a concurrently changed policy to every later decision', async test => {
  const { fixture, propose, database, workspaceId } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits')
  const tries = Array.from({ length: AT_ONCE }, (_, at) =>
    at === AT_ONCE / 2 ? setPolicy(fixture, 'ask') : propose([by(1)]),
  )
  await Promise.all(tries)
  const { rows } = await database.pool.query(
    `select action, body::jsonb #>> '{details,policy_version}' as version from audit_entries
     where workspace_id = $1 and action in ('policy.changed', 'action.allowed',
       'action.approval_required') order by sequence`,
    [workspaceId],
  )
  const changedAt = rows.findLastIndex(({ action }) => action === 'policy.changed')
  assert.ok(changedAt > 0)
  rows.forEach(({ action, version }, at) => {
    if (action === 'policy.changed') return
    const expected = at < changedAt ? ['action.allowed', '2'] : ['action.approval_required', '3']
    assert.deepEqual([action, version], expected)
  })
})
