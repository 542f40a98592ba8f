import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentFixture,
  readCurrentEntity,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  approveAction,
  changeBudgetExternally,
  createExecutionFixture,
  failNextChange,
} from '../../../testing/fixtures/executions.ts'
import type { CampaignApi } from '../campaigns/campaign-api.ts'
import { getAction } from '../proposals/action-store.ts'
import { confirmExecution } from './confirm-execution.ts'
import { type ExecutionContext, executeAction } from './execute-action.ts'
import { EXECUTION_LEASE_SECONDS, resumeExecutions, runExecution } from './execution-triggers.ts'

const LOST = new Error('the connection was lost')

/** The platform applies the change or not, and its answer is lost. */
function loseAnswer({ context }: AgentFixture, isApplied: boolean): ExecutionContext {
  const { campaigns } = context
  const changeEntity: CampaignApi['changeEntity'] = async (...change) => {
    if (isApplied) await campaigns.changeEntity(...change)
    throw LOST
  }
  return { ...context, campaigns: { ...campaigns, changeEntity } }
}

for (const isApplied of [true, false]) {
  const result = isApplied ? 'was applied' : 'was not applied'
  it(`repeats a request that ${result}, even if the policy forbids it now`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { id } = await approveAction(fixture)
    await assert.rejects(runExecution(loseAnswer(fixture, isApplied), id), LOST)
    await setPolicy(fixture, 'suggest_only')
    fixture.clock.advance(EXECUTION_LEASE_SECONDS)
    assert.deepEqual(await resumeExecutions(fixture.context), { finished: 1, more: false })
    const action = await getAction(fixture.database, id)
    assert.equal(action.status, 'verified')
    assert.deepEqual([action.changeRequest?.attempts, action.after?.version], [2, 2])
    const [executed] = await readAuditEntries(
      fixture.database,
      fixture.workspaceId,
      'action.executed',
    )
    assert.equal(executed?.details.policy_version, action.changeRequest?.policyVersion)
  })

  it(`ends as uncertain if a request ${result} and the entity changed since`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { id } = await approveAction(fixture)
    await assert.rejects(runExecution(loseAnswer(fixture, isApplied), id), LOST)
    await changeBudgetExternally(fixture, 15_000)
    fixture.clock.advance(EXECUTION_LEASE_SECONDS)
    await resumeExecutions(fixture.context)
    const { status, outcome, after, executedAt } = await getAction(fixture.database, id)
    assert.deepEqual([status, outcome], ['execution_uncertain', 'changed_elsewhere'])
    assert.deepEqual([after?.daily_budget_minor, executedAt], [15_000, null])
    assert.deepEqual(await readCurrentEntity(fixture, 1), after)
  })
}

it('stores the request, and no result, until the platform answers', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id } = await approveAction(fixture)
  await assert.rejects(runExecution(loseAnswer(fixture, true), id), LOST)
  const { status, changeRequest, after } = await getAction(fixture.database, id)
  assert.deepEqual([status, changeRequest?.attempts, after], ['executing', 1, null])
  assert.deepEqual(changeRequest?.requestedAt, fixture.clock.now())
})

for (const isApplied of [true, false]) {
  const result = isApplied ? 'was applied' : 'was not applied'
  it(`rolls back once if a rollback without an answer ${result}`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { id, before } = await approveAction(fixture)
    await failNextChange(fixture, 'altered')
    await executeAction(fixture.context, id)
    await assert.rejects(confirmExecution(loseAnswer(fixture, isApplied), id), LOST)
    fixture.clock.advance(EXECUTION_LEASE_SECONDS)
    assert.deepEqual(await resumeExecutions(fixture.context), { finished: 1, more: false })
    const { status, outcome, after } = await getAction(fixture.database, id)
    assert.deepEqual([status, outcome], ['rolled_back', 'not_applied'])
    assert.deepEqual(after, { ...before, version: 3 })
  })

  it(`keeps an external change after a rollback without an answer ${result}`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { id } = await approveAction(fixture)
    await failNextChange(fixture, 'altered')
    await executeAction(fixture.context, id)
    await assert.rejects(confirmExecution(loseAnswer(fixture, isApplied), id), LOST)
    await changeBudgetExternally(fixture, 15_000)
    fixture.clock.advance(EXECUTION_LEASE_SECONDS)
    await resumeExecutions(fixture.context)
    const { status, outcome, after } = await getAction(fixture.database, id)
    assert.deepEqual([status, outcome], ['execution_uncertain', 'changed_elsewhere'])
    assert.equal(after?.daily_budget_minor, 15_000)
    assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 15_000)
  })
}
