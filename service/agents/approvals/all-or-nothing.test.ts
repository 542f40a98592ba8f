import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type AgentFixture, proposeTogether, setPolicy } from '../../../testing/fixtures/agents.ts'
import {
  APPROVAL,
  changeBudgetExternally,
  createExecutionFixture,
  isRefusal,
  LESS_AND_MORE,
} from '../../../testing/fixtures/executions.ts'
import { decideAndExecute } from '../executor/execution-triggers.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { decideActions } from './decide-actions.ts'

function requestOf({ owner: user, workspaceId }: AgentFixture, batchId: number) {
  return { user, workspaceId, batchId }
}

async function outcomesOf({ database }: AgentFixture, batchId: number) {
  const actions = await findActionsOfBatch(database, batchId)
  return actions.map(({ status, outcome }) => `${status} ${outcome}`)
}

it('returns 422 for a decision on a part', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds } = await proposeTogether(fixture, ...LESS_AND_MORE)
  for (const decision of ['approve', 'reject']) {
    const body = { ...APPROVAL, decision, action_ids: [actionIds[0]] }
    const refused = isRefusal(422, /all or nothing: the action_ids field must name all/)
    await assert.rejects(decideActions(fixture.context, requestOf(fixture, batchId), body), refused)
  }
  const all = { ...APPROVAL, decision: 'reject', action_ids: actionIds }
  const rejected = await decideActions(fixture.context, requestOf(fixture, batchId), all)
  assert.deepEqual(
    rejected.map(({ status, outcome }) => [status, outcome]),
    [
      ['rejected', null],
      ['rejected', null],
    ],
  )
})

it('rejects all if the entity of one changed', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId } = await proposeTogether(fixture, ...LESS_AND_MORE)
  await changeBudgetExternally(fixture, 15_000)
  await decideActions(fixture.context, requestOf(fixture, batchId), APPROVAL)
  const expected = ['rejected stale', 'rejected not_executed']
  assert.deepEqual(await outcomesOf(fixture, batchId), expected)
})

it('rejects all if the policy no longer allows one', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId } = await proposeTogether(fixture, ...LESS_AND_MORE)
  await setPolicy(fixture, 'ask', { allowed_types: ['decrease_budget'] })
  await decideActions(fixture.context, requestOf(fixture, batchId), APPROVAL)
  const expected = ['blocked policy_changed', 'rejected not_executed']
  assert.deepEqual(await outcomesOf(fixture, batchId), expected)
})

it('approves nothing if all together exceed a limit that was not shown', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId } = await proposeTogether(fixture, ...LESS_AND_MORE)
  await setPolicy(fixture, 'ask', { daily_total_minor_max: 2_900 })
  const request = requestOf(fixture, batchId)
  const refused = isRefusal(409, /total €30\.00; the policy allows €29\.00/)
  await assert.rejects(decideActions(fixture.context, request, APPROVAL), refused)
  assert.deepEqual(await outcomesOf(fixture, batchId), ['pending null', 'pending null'])
  const accepted = { ...APPROVAL, accepted_limits: ['daily_total_exceeded'] }
  const { batch } = await decideAndExecute(fixture.context, request, accepted)
  assert.equal(batch.status, 'completed')
})

it('lets one of an approval and a rejection at the same time decide on all', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId } = await proposeTogether(fixture, ...LESS_AND_MORE)
  const request = requestOf(fixture, batchId)
  const decisions = ['approve', 'reject'].map(decision =>
    decideActions(fixture.context, request, { ...APPROVAL, decision }).then(
      actions => actions.length,
      ({ status }) => status,
    ),
  )
  assert.deepEqual((await Promise.all(decisions)).sort(), [2, 409])
  assert.equal(new Set(await outcomesOf(fixture, batchId)).size, 1)
})
