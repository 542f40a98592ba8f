import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  buildBudgetProposal,
  startAgentActionsFixture,
} from '../../../testing/fixtures/agent-actions.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { countQueuedBatches } from './batch-store.ts'

it('counts proposals that wait for a decision, not their changes, in one workspace', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { database } = fixture.service
  const { workspaceId } = fixture.workspace
  const count = (workspace: number) => countQueuedBatches(database, workspace)
  assert.equal(await count(workspaceId), 0)
  const target = (position: number) => ({ type: 'campaign', id: fixture.entityId(position) })
  const pause = { type: 'pause', params: {}, target_entity: target(2), rationale: 'Old.' }
  const resume = { type: 'resume', params: {}, target_entity: target(3), rationale: 'Summer.' }
  for (const [key, actions] of [
    ['key-1', [pause, resume]],
    ['key-2', [pause]],
  ] as const) {
    const body = buildBudgetProposal('1', { actions, idempotency_key: key })
    assert.equal((await fixture.request('POST', '/actions', { body })).status, 201)
  }
  assert.equal(await count(workspaceId), 2)
  const { workspaceId: other } = await createTestWorkspace(fixture.service)
  assert.equal(await count(other), 0)
  await database.pool.query(`update agent_actions set status = 'rejected' where batch_id = 1`)
  assert.equal(await count(workspaceId), 1)
})
