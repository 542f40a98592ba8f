import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  buildProposal,
  propose,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  APPROVAL,
  approveAction,
  changeBudgetExternally,
  createExecutionFixture,
  failNextChange,
  PAUSE,
  RAISE,
} from '../../../testing/fixtures/executions.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { proposeActions } from '../proposals/propose-actions.ts'
import { findReceipt } from '../proposals/receipt-store.ts'
import { confirmExecution } from './confirm-execution.ts'
import { executeAction } from './execute-action.ts'
import {
  decideAndExecute,
  EXECUTION_LEASE_SECONDS,
  resumeExecutions,
  runExecution,
  submitProposal,
} from './execution-triggers.ts'

it('executes and verifies an allowed action before the response', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  const { batchId, status } = await propose(fixture, RAISE, PAUSE)
  assert.equal(status, 'completed')
  assert.deepEqual(
    (await findActionsOfBatch(fixture.database, batchId)).map(action => action.status),
    ['verified', 'verified'],
  )
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 12_000)
  assert.equal((await readCurrentEntity(fixture, 2)).status, 'paused')
  // The other account has entities with the same names.
  assert.equal((await readCurrentEntity(fixture, 1, fixture.otherAccountId)).version, 1)
})

it('executes an approved action before the response, with a receipt', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds, approval_required } = await propose(fixture, RAISE)
  assert.equal(approval_required, true)
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
  const target = { user: fixture.owner, workspaceId: String(fixture.workspaceId), batchId }
  const { batch } = await decideAndExecute(fixture.context, target, APPROVAL)
  assert.equal(batch.status, 'completed')
  assert.equal(batch.actions[0]?.after?.daily_budget_minor, 12_000)
  const name = { workspaceId: fixture.workspaceId, actionId: actionIds[0] ?? 0 }
  const receipt = await findReceipt(fixture.database, name)
  const document = JSON.parse(receipt?.document ?? '{}')
  assert.equal(document.status, 'verified')
  assert.equal(document.decision.decided_by, fixture.owner.userId)
  const entries = await readAuditEntries(fixture.database, fixture.workspaceId)
  assert.deepEqual(
    entries.filter(({ subject }) => subject.type === 'action').map(({ action }) => action),
    ['action.approval_required', 'action.approved', 'action.executed', 'action.verified'],
  )
})

it('returns the current state to a retried proposal and executes once', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  const principal = await resolvePrincipal(fixture)
  const body = buildProposal(RAISE)
  const first = await submitProposal(fixture.context, principal, body)
  const again = await submitProposal(fixture.context, principal, body)
  assert.deepEqual([first.isNew, again.isNew], [true, false])
  assert.deepEqual(again.result, first.result)
  assert.equal((await readCurrentEntity(fixture, 1)).version, 2)
})

it('changes the entity once under concurrent executions', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id } = await approveAction(fixture)
  const executions = [1, 2, 3, 4, 5]
  const answers = await Promise.all(executions.map(() => runExecution(fixture.context, id)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(['verified']))
  assert.equal((await readCurrentEntity(fixture, 1)).version, 2)
  const entries = await readAuditEntries(fixture.database, fixture.workspaceId, 'action.executed')
  assert.equal(entries.length, 1)
})

it('fails as stale if the entity changed after the approval', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id } = await approveAction(fixture)
  await changeBudgetExternally(fixture, 15_000)
  const { status, outcome, after } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome, after], ['failed', 'stale', null])
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 15_000)
})

it('fails if the policy changed after the approval', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id } = await approveAction(fixture)
  await setPolicy(fixture, 'suggest_only')
  const { status, outcome } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['failed', 'policy_changed'])
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
})

it('fails an allowed action if the current policy requires approval', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  await proposeActions(fixture.context, await resolvePrincipal(fixture), buildProposal(RAISE))
  await setPolicy(fixture, 'auto_with_limits', { change_minor_max: 1_000 })
  fixture.clock.advance(EXECUTION_LEASE_SECONDS)
  assert.deepEqual(await resumeExecutions(fixture.context), { finished: 1, more: false })
  const [failed] = await readAuditEntries(fixture.database, fixture.workspaceId, 'action.failed')
  assert.equal(failed?.details.outcome, 'policy_changed')
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
})

it('detects a change that the platform ignored', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id, before } = await approveAction(fixture)
  await failNextChange(fixture, 'ignored')
  const { status, outcome, after } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['rolled_back', 'not_applied'])
  assert.deepEqual(after, { ...before, version: 2 })
})

it('detects an altered change and restores the previous state', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id, before } = await approveAction(fixture)
  await failNextChange(fixture, 'altered')
  const { status, outcome, after } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['rolled_back', 'not_applied'])
  assert.deepEqual(after, { ...before, version: 3 })
  assert.deepEqual(await readCurrentEntity(fixture, 1), after)
})

it('ends as uncertain if restoring fails, too', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id } = await approveAction(fixture)
  await failNextChange(fixture, 'altered')
  await executeAction(fixture.context, id)
  await failNextChange(fixture, 'ignored')
  const { status, outcome, after } = await confirmExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['execution_uncertain', 'not_applied'])
  assert.equal(after?.daily_budget_minor, 6_000)
})

it('keeps a change made before the verification and ends as uncertain', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id } = await approveAction(fixture)
  await executeAction(fixture.context, id)
  await changeBudgetExternally(fixture, 15_000)
  const { status, outcome } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['execution_uncertain', 'changed_elsewhere'])
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 15_000)
})

it('resumes an interrupted action after its lease', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const [begun, changed] = [await approveAction(fixture), await approveAction(fixture, PAUSE)]
  await executeAction(fixture.context, changed.id)
  fixture.clock.advance(EXECUTION_LEASE_SECONDS - 1)
  assert.deepEqual(await resumeExecutions(fixture.context), { finished: 0, more: false })
  fixture.clock.advance(1)
  assert.deepEqual(await resumeExecutions(fixture.context), { finished: 2, more: false })
  for (const { batchId } of [begun, changed]) {
    const [action] = await findActionsOfBatch(fixture.database, batchId)
    assert.equal(action?.status, 'verified')
  }
  assert.equal((await readCurrentEntity(fixture, 2)).version, 2)
})

it('resumes other actions if one fails', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const [broken, sound] = [await approveAction(fixture), await approveAction(fixture, PAUSE)]
  const { campaigns } = fixture.context
  const changeEntity: typeof campaigns.changeEntity = (...given) =>
    given[1].expected.type === 'campaign'
      ? Promise.reject(new Error('the platform is down'))
      : campaigns.changeEntity(...given)
  fixture.clock.advance(EXECUTION_LEASE_SECONDS)
  const context = { ...fixture.context, campaigns: { ...campaigns, changeEntity } }
  await assert.rejects(resumeExecutions(context), /1 actions could not be finished/)
  const statuses = [broken, sound].map(async ({ batchId }) => {
    const [action] = await findActionsOfBatch(fixture.database, batchId)
    return action?.status
  })
  assert.deepEqual(await Promise.all(statuses), ['executing', 'verified'])
})
