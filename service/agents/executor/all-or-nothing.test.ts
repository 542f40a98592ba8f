import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentFixture,
  buildProposal,
  ENTITIES,
  FIXTURE_AUDIT_KEYS,
  type ProposedChange,
  proposeTogether,
  readCurrentEntity,
  resolvePrincipal,
} from '../../../testing/fixtures/agents.ts'
import {
  APPROVAL,
  changeBudgetExternally,
  createExecutionFixture,
  failNextChange,
  LESS_AND_MORE,
} from '../../../testing/fixtures/executions.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import type { ProposalContext } from '../agents-context.ts'
import type { CampaignApi } from '../campaigns/campaign-api.ts'
import { applyExternalChange, setNextFault } from '../campaigns/simulated-account-store.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { verifyProposalRecords } from '../proposals/verify-records.ts'
import { decideAndExecute, submitProposal } from './execution-triggers.ts'

/** Records each change that is asked for, and calls `before` ahead of it. */
function watchChanges(
  { context }: AgentFixture,
  before: (count: number) => Promise<unknown> = async () => {},
): { context: ProposalContext; keys: string[] } {
  const keys: string[] = []
  const changeEntity: CampaignApi['changeEntity'] = async (adAccountId, change) => {
    keys.push(change.key)
    await before(keys.length)
    return context.campaigns.changeEntity(adAccountId, change)
  }
  return { context: { ...context, campaigns: { ...context.campaigns, changeEntity } }, keys }
}

async function approve(
  { owner: user, workspaceId, context: own }: AgentFixture,
  batchId: number,
  context = own,
) {
  const { batch } = await decideAndExecute(context, { user, workspaceId, batchId }, APPROVAL)
  return batch
}

async function resultsOf({ database }: AgentFixture, batchId: number) {
  const actions = await findActionsOfBatch(database, batchId)
  return actions.map(({ status, outcome }) => [status, outcome])
}

async function budgetsOf(fixture: AgentFixture) {
  const entities = [await readCurrentEntity(fixture, 1), await readCurrentEntity(fixture, 2)]
  return entities.map(entity => entity.daily_budget_minor)
}

async function assertIntact({ database, workspaceId, clock }: AgentFixture): Promise<void> {
  const { is_intact, finding } = await verifyChain(database, FIXTURE_AUDIT_KEYS, {
    workspaceId,
    now: clock.now(),
    verifyRecords: verifyProposalRecords,
  })
  assert.equal(is_intact, true, finding)
}

const VERIFIED = ['verified', null]

it('executes the decrease before the increase, and verifies both together', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds, status } = await proposeTogether(fixture, ...LESS_AND_MORE)
  assert.equal(status, 'pending_approval')
  const [more, less] = actionIds
  const { context, keys } = watchChanges(fixture)
  const batch = await approve(fixture, batchId, context)
  assert.deepEqual(keys, [`action-${less}`, `action-${more}`])
  assert.deepEqual([batch.status, batch.all_or_nothing], ['completed', true])
  assert.deepEqual(
    batch.actions.map(({ id, type }) => [id, type]),
    [
      [more, 'increase_budget'],
      [less, 'decrease_budget'],
    ],
  )
  assert.deepEqual(await budgetsOf(fixture), [12_000, 3_000])
  await assertIntact(fixture)
})

it('sets the executed action back if another one is stale', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds } = await proposeTogether(fixture, ...LESS_AND_MORE)
  const [, less] = actionIds
  const { context, keys } = watchChanges(fixture, async count => {
    if (count === 1) await changeBudgetExternally(fixture, 15_000)
  })
  const batch = await approve(fixture, batchId, context)
  assert.deepEqual(keys, [`action-${less}`, `action-${less}-rollback`])
  assert.deepEqual(await resultsOf(fixture, batchId), [
    ['failed', 'stale'],
    ['rolled_back', 'batch_failed'],
  ])
  assert.equal(batch.status, 'failed')
  assert.deepEqual(await budgetsOf(fixture), [15_000, 4_000])
  assert.match(batch.actions[1]?.explanation ?? '', /the previous state was restored, because/)
  await assertIntact(fixture)
})

it('does not execute the others if the first one fails', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds } = await proposeTogether(fixture, ...LESS_AND_MORE)
  const [, less] = actionIds
  const location = { adAccountId: fixture.adAccountId, ...ENTITIES[2] }
  await setNextFault(fixture.database, location, 'altered')
  const { context, keys } = watchChanges(fixture)
  await approve(fixture, batchId, context)
  assert.deepEqual(keys, [`action-${less}`, `action-${less}-rollback`])
  assert.deepEqual(await resultsOf(fixture, batchId), [
    ['failed', 'not_executed'],
    ['rolled_back', 'not_applied'],
  ])
  assert.deepEqual(await budgetsOf(fixture), [10_000, 4_000])
})

for (const fault of ['altered', 'ignored'] as const) {
  it(`sets the others back if the platform ${fault} the last change`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { batchId } = await proposeTogether(fixture, ...LESS_AND_MORE)
    await failNextChange(fixture, fault)
    await approve(fixture, batchId)
    assert.deepEqual(await resultsOf(fixture, batchId), [
      ['rolled_back', 'not_applied'],
      ['rolled_back', 'batch_failed'],
    ])
    assert.deepEqual(await budgetsOf(fixture), [10_000, 4_000])
    await assertIntact(fixture)
  })
}

it('sets nothing back over a change that was made elsewhere', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId } = await proposeTogether(fixture, ...LESS_AND_MORE)
  const { context } = watchChanges(fixture, async count => {
    if (count !== 2) return
    await setNextFault(
      fixture.database,
      { adAccountId: fixture.adAccountId, ...ENTITIES[1] },
      'ignored',
    )
    const location = { adAccountId: fixture.adAccountId, ...ENTITIES[2] }
    const change = { dailyBudgetMinor: 7_000, at: fixture.clock.now() }
    await applyExternalChange(fixture.database, location, change)
  })
  await approve(fixture, batchId, context)
  assert.deepEqual(await resultsOf(fixture, batchId), [
    ['rolled_back', 'not_applied'],
    ['execution_uncertain', 'changed_elsewhere'],
  ])
  assert.deepEqual(await budgetsOf(fixture), [10_000, 7_000])
})

it('fails the batch if an entity changes before all are verified', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId } = await proposeTogether(fixture, ...LESS_AND_MORE)
  const { campaigns } = fixture.context
  const readEntities: CampaignApi['readEntities'] = async (adAccountId, refs) => {
    const isLast = refs.length === 2 && (await budgetsOf(fixture)).join() === '12000,3000'
    if (isLast) await changeBudgetExternally(fixture, 15_000)
    return campaigns.readEntities(adAccountId, refs)
  }
  const context = { ...fixture.context, campaigns: { ...campaigns, readEntities } }
  await approve(fixture, batchId, context)
  assert.deepEqual(await resultsOf(fixture, batchId), [
    ['execution_uncertain', 'changed_elsewhere'],
    ['rolled_back', 'batch_failed'],
  ])
  assert.deepEqual(await budgetsOf(fixture), [15_000, 4_000])
})

it('comes to one end when several processes execute the batch at once', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  const principal = await resolvePrincipal(fixture)
  const submitAtOnce = async (...changes: ProposedChange[]) => {
    const body = { ...buildProposal(...changes), all_or_nothing: true }
    const submissions = [1, 2, 3].map(() => submitProposal(fixture.context, principal, body))
    const [first] = await Promise.all(submissions)
    // A retry resumes what is left, so that nothing is in progress afterwards.
    await submitProposal(fixture.context, principal, body)
    return resultsOf(fixture, first?.result.proposal.id ?? 0)
  }
  assert.deepEqual(await submitAtOnce(...LESS_AND_MORE), [VERIFIED, VERIFIED])
  await failNextChange(fixture, 'altered')
  const [more, less] = LESS_AND_MORE
  const further = [
    { ...more, budgetMinor: 13_000 },
    { ...less, budgetMinor: 2_000 },
  ]
  assert.deepEqual(await submitAtOnce(...further), [
    ['rolled_back', 'not_applied'],
    ['rolled_back', 'batch_failed'],
  ])
  assert.deepEqual(await budgetsOf(fixture), [12_000, 3_000])
  await assertIntact(fixture)
})
