import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentActionsFixture,
  setExecutionMode,
  startAgentActionsFixture,
  submitSingleActionProposal,
  submitTestProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import { submitFormPairs } from '../../../testing/fixtures/page-client.ts'

/** The paused campaign has 15.00 a day. */
function resumeCampaign(fixture: AgentActionsFixture) {
  const target_entity = { type: 'campaign', id: fixture.entityId(3) }
  return { type: 'resume', params: {}, target_entity, rationale: 'It is summer.' }
}

it('shows what a resume sets in motion, and what else is pending for the entity', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitTestProposal(fixture, [resumeCampaign(fixture)])
  const { client } = fixture.workspace.owner
  const { text } = await client.get(path)
  assert.match(text, /Daily budgets that it sets in motion: <strong>€15\.00<\/strong>/)
  assert.match(text, /Changed and resumed daily budgets<\/dt>\s*<dd>€0\.00 \(limit €200\.00\)/)
  assert.match(text, /<dt>Actions<\/dt><dd>0 \(limit 10\)/)
  assert.doesNotMatch(text, /Also pending/)
  await fixture.request('POST', '/actions', {
    body: {
      actions: [resumeCampaign(fixture)],
      rationale: 'Once more.',
      idempotency_key: 'key-2',
      evidence: [{ source_tool: 'get_performance', fields_used: ['ledger'] }],
      target_source: 'human_supplied',
    },
  })
  const again = await client.get(path)
  assert.match(again.text, /Also pending for this entity[\s\S]*Proposal 2<\/a>:\s*Resume, €15\.00/)
})

it('shows changes of the policy before the decision', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await submitSingleActionProposal(fixture)
  const { client } = fixture.workspace.owner
  assert.doesNotMatch((await client.get(path)).text, /in the last 72 hours/)
  await setExecutionMode(fixture, 'ask')
  const { text } = await client.get(path)
  assert.match(
    text,
    /in the last 72 hours[\s\S]*Policy changed,[\s\S]*<bdi>\w+@people\.example<\/bdi>/,
  )
  fixture.service.clock.advance(72 * 3_600 + 1)
  assert.doesNotMatch((await client.get(path)).text, /in the last 72 hours/)
})

it('shows a newly exceeded limit before it accepts the approval', async test => {
  const fixture = await startAgentActionsFixture(test)
  await setExecutionMode(fixture, 'ask')
  const path = await submitSingleActionProposal(fixture)
  const { client } = fixture.workspace.owner
  const pairs = [
    ['decision', 'approve'],
    ['action_ids', '1'],
    ['reason', 'It was planned.'],
  ] as const
  await submitFormPairs(client, `/workspaces/${fixture.workspace.workspaceId}/policy`, [
    ['version', '1'],
    ['amount_digits', '2'],
    ['execution_mode', 'ask'],
    ['allowed_types', 'increase_budget'],
    ['change_minor_max', '1.00'],
  ])
  const refused = await submitFormPairs(client, path, pairs)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /Your decision was not saved/)
  assert.match(refused.text, /It changes the daily budget by €15\.00; the policy allows €1\.00/)
  assert.match(refused.text, /name="accepted_limits" value="change_amount_exceeded"/)
  const accepted = await submitFormPairs(client, path, [
    ...pairs,
    ['accepted_limits', 'change_amount_exceeded'],
  ])
  assert.match(accepted.text, /Your decision is saved[\s\S]*Verified/)
})
