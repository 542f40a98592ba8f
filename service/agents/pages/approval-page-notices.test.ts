import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  approvalsPath,
  BUDGET_INCREASE,
  buildBudgetProposal,
  setExecutionMode,
  startAgentActionsFixture,
  submitSingleActionProposal,
  submitTestProposal,
} from '../../../testing/fixtures/agent-actions.ts'

it('shows the effect of an approval next to the button', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitSingleActionProposal(fixture)
  const { client } = fixture.workspace.owner
  assert.match((await client.get(path)).text, /Nothing is executed here/)
  await setExecutionMode(fixture, 'ask')
  assert.match(
    (await client.get(path)).text,
    /Approved changes are executed and verified immediately/,
  )
})

it('warns about a different entity name and an unused source', async test => {
  const fixture = await startAgentActionsFixture(test)
  const id = fixture.entityId(1)
  const path = await submitTestProposal(fixture, [
    { ...BUDGET_INCREASE, target_entity: { type: 'campaign', id, name: 'Only a test' } },
  ])
  const { text } = await fixture.workspace.owner.client.get(path)
  assert.match(text, /The agent calls it <bdi>Only a test<\/bdi>/)
  assert.match(text, /The agent cites a source\s+that it never used/)
})

it('ignores a crafted link that claims a decision', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitSingleActionProposal(fixture)
  const { text } = await fixture.workspace.owner.client.get(`${path}?done=approve`)
  assert.doesNotMatch(text, /Your decision is kept/)
})

it('paginates the queue, and shows the first page for an invalid number', async test => {
  const fixture = await startAgentActionsFixture(test)
  for (let number = 1; number <= 21; number += 1) {
    const body = buildBudgetProposal(fixture.entityId(1), { idempotency_key: `key-${number}` })
    assert.equal((await fixture.request('POST', '/actions', { body })).status, 201)
  }
  const { client } = fixture.workspace.owner
  const first = await client.get(`${approvalsPath(fixture)}?page=x`)
  assert.equal(first.text.match(/<li class="proposal"/g)?.length, 20)
  assert.match(first.text, /page&#61;2"|page=2"/)
  const second = await client.get(`${approvalsPath(fixture)}?page=2`)
  assert.equal(second.text.match(/<li class="proposal"/g)?.length, 1)
})
