import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  propose,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { applyExternalChange } from '../campaigns/simulated-account-store.ts'
import { runExecution, submitProposal } from '../executor/execution-triggers.ts'
import { findActionsOfBatch } from './action-store.ts'
import { proposeActions } from './propose-actions.ts'

async function stage(test: TestContext): Promise<AgentFixture> {
  const { database } = await createTestDatabase(test)
  return createAgentFixture(database)
}

/** A paused campaign of 50,000.00 a day, in two ad sets that are active. */
async function addPausedCampaign({ database, adAccountId, clock }: AgentFixture): Promise<void> {
  const rows = [
    ['campaign', '950', null, null, 'paused', null],
    ['ad_set', '951', 'campaign', '950', 'active', 4_000_000],
    ['ad_set', '952', 'campaign', '950', 'active', 1_000_000],
  ]
  for (const [type, id, parentType, parentId, status, budget] of rows) {
    await database.pool.query(
      `insert into ad_entities (ad_account_id, type, id, parent_type, parent_id, name, status,
         daily_budget_minor, version, changed_at)
       values ($1, $2, $3, $4, $5, 'Large', $6, $7, 1, $8)`,
      [adAccountId, type, id, parentType, parentId, status, budget, clock.now()],
    )
  }
}

function resume(type: string, id: string) {
  const target_entity = { type, id, name: null }
  return { type: 'resume', params: {}, target_entity, rationale: 'It sells.' }
}

function proposalOf(...actions: object[]) {
  return { ...buildProposal({ type: 'pause', entity: 1 }), actions }
}

it('requires approval for a resume that sets more money in motion than the limits', async test => {
  const fixture = await stage(test)
  await addPausedCampaign(fixture)
  const limits = { change_minor_max: 1, daily_total_minor_max: 1 }
  await setPolicy(fixture, 'auto_with_limits', limits)
  const principal = await resolvePrincipal(fixture)
  const body = proposalOf(resume('campaign', '950'))
  const { result } = await submitProposal(fixture.context, principal, body)
  const [action] = result.proposal.actions
  assert.equal(result.proposal.status, 'pending_approval')
  assert.deepEqual(
    action?.policy_reasons.map(({ code }) => code),
    ['change_amount_exceeded', 'daily_total_exceeded'],
  )
  assert.match(action?.policy_reasons[0]?.message ?? '', /€50,000.00 in motion/)
  assert.equal(action?.policy_evidence.set_in_motion_minor, 5_000_000)
})

it('counts a resumed budget towards the total of the day', async test => {
  const fixture = await stage(test)
  await addPausedCampaign(fixture)
  await setPolicy(fixture, 'auto_with_limits', { daily_total_minor_max: 5_000_000 })
  const principal = await resolvePrincipal(fixture)
  const first = await submitProposal(
    fixture.context,
    principal,
    proposalOf(resume('campaign', '950')),
  )
  assert.equal(first.result.proposal.status, 'completed')
  const raise = await propose(fixture, {
    type: 'increase_budget',
    entity: 1,
    budgetMinor: 10_001,
  })
  assert.deepEqual(
    raise.policy_reasons.map(({ code }) => code),
    ['daily_total_exceeded'],
  )
})

it('fails an allowed resume if it would now set more money in motion', async test => {
  const fixture = await stage(test)
  const { context, database, adAccountId, clock } = fixture
  await addPausedCampaign(fixture)
  await setPolicy(fixture, 'auto_with_limits', { change_minor_max: 5_000_000 })
  const principal = await resolvePrincipal(fixture)
  const body = proposalOf(resume('campaign', '950'))
  const { actions } = await proposeActions(context, principal, body)
  const [action] = actions
  assert.equal(action?.status, 'executing')
  const child = { adAccountId, type: 'ad_set', id: '951' } as const
  await applyExternalChange(database, child, { dailyBudgetMinor: 4_000_001, at: clock.now() })
  const { status, outcome } = await runExecution(context, action.id)
  assert.deepEqual([status, outcome], ['failed', 'stale'])
  const [found] = await context.campaigns.readEntities(adAccountId, [
    { type: 'campaign', id: '950' },
  ])
  assert.equal(found?.status, 'paused')
})

it('executes a pause and a resume of one proposal in order', async test => {
  const fixture = await stage(test)
  await addPausedCampaign(fixture)
  await setPolicy(fixture, 'auto_with_limits')
  const principal = await resolvePrincipal(fixture)
  const pause = { ...resume('ad_set', '951'), type: 'pause' }
  const body = proposalOf(pause, resume('campaign', '950'))
  const { result } = await submitProposal(fixture.context, principal, body)
  assert.equal(result.proposal.status, 'completed')
})

it('measures steps against the budget at the start of the day', async test => {
  const fixture = await stage(test)
  await setPolicy(fixture, 'auto_with_limits', { change_percent_max: 20 })
  const raiseBy20Percent = async () => {
    const { daily_budget_minor: budget } = await readCurrentEntity(fixture, 1)
    const budgetMinor = Math.floor(((budget ?? 0) * 120) / 100)
    return propose(fixture, { type: 'increase_budget', entity: 1, budgetMinor })
  }
  assert.equal((await raiseBy20Percent()).status, 'completed')
  for (let step = 0; step < 9; step += 1) {
    const { status, policy_reasons } = await raiseBy20Percent()
    assert.equal(status, 'pending_approval')
    assert.match(policy_reasons[0]?.message ?? '', /^Since the start of the day .* by 44%/)
  }
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 12_000)
  fixture.clock.advance(DAY_SECONDS)
  assert.equal((await raiseBy20Percent()).status, 'completed')
})

it('gives the money of a stale attempt back to the day, but counts the attempt', async test => {
  const fixture = await stage(test)
  const { context, database, adAccountId, clock } = fixture
  await setPolicy(fixture, 'auto_with_limits', { daily_total_minor_max: 1_000 })
  const body = buildProposal({ type: 'increase_budget', entity: 1, budgetMinor: 11_000 })
  const { actions, batch } = await proposeActions(context, await resolvePrincipal(fixture), body)
  const place = { adAccountId, type: 'campaign', id: '901' } as const
  await applyExternalChange(database, place, { name: 'Winter', at: clock.now() })
  await runExecution(context, actions[0]?.id ?? 0)
  const [failed] = await findActionsOfBatch(database, batch.id)
  assert.deepEqual([failed?.status, failed?.outcome], ['failed', 'stale'])
  const again = await propose(fixture, {
    type: 'increase_budget',
    entity: 1,
    budgetMinor: 11_000,
  })
  assert.equal(again.status, 'completed')
  const { changed_today_minor, actions_today } = again.actions[0]?.policy_evidence ?? {}
  assert.deepEqual([changed_today_minor, actions_today], [0, 1])
})
