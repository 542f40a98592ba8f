import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  approvalsPath,
  buildBudgetProposal,
  setExecutionMode,
  startAgentActionsFixture,
  submitSingleActionProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import { submitFormPairs } from '../../../testing/fixtures/page-client.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { DECIDED_PER_PAGE } from '../approvals/approval-queue.ts'

it('shows each decided change with its outcome and the email of who decided', async test => {
  const fixture = await startAgentActionsFixture(test)
  await setExecutionMode(fixture, 'ask')
  const path = await submitSingleActionProposal(fixture)
  const { client, email } = fixture.workspace.owner
  const decided = `${approvalsPath(fixture)}?view=decided`
  const none = await client.get(decided)
  assert.match(none.text, /No decided changes/)
  assert.match(none.text, /class="count">1</)
  await submitFormPairs(client, path, [
    ['decision', 'approve'],
    ['action_ids', '1'],
    ['reason', 'It was planned.'],
  ])
  const { text } = await client.get(decided)
  assert.match(text, new RegExp(`<a href="${path}">Raise the daily budget: campaign`))
  assert.match(text, /€120\.00 → <strong>€135\.00<\/strong> \+€15\.00 \(\+12\.5%\)/)
  assert.match(text, /<span class="tag success">Verified<\/span>/)
  assert.match(text, new RegExp(`Approved by <bdi>${email}</bdi>, 21 Nov 2026, 12:00 UTC\\.`))
  assert.doesNotMatch(text, /class="count"/)
})

it('says when time or the policy decided', async test => {
  const fixture = await startAgentActionsFixture(test)
  await submitSingleActionProposal(fixture)
  const body = buildBudgetProposal(fixture.entityId(1), { idempotency_key: 'key-2' })
  const [action] = body.actions as [{ params: object }]
  action.params = { new_daily_budget_minor: 12_000 * 100 }
  await fixture.request('POST', '/actions', { body })
  fixture.service.clock.advance(73 * HOUR_SECONDS)
  await fixture.service.database.pool.query(
    `update agent_actions set status = 'rejected', outcome = 'expired' where id = 1`,
  )
  const { client } = fixture.workspace.owner
  const { text } = await client.get(`${approvalsPath(fixture)}?view=decided`)
  assert.match(text, /Rejected<\/span>[\s\S]*Not decided; proposed 21 Nov 2026, 12:00 UTC/)
  assert.match(text, /The approval period ended without a decision\./)
})

it('pages by the last change of a page, and only within the workspace', async test => {
  const fixture = await startAgentActionsFixture(test)
  const count = DECIDED_PER_PAGE + 2
  for (let number = 1; number <= count; number += 1) {
    const body = buildBudgetProposal(fixture.entityId(1), { idempotency_key: `key-${number}` })
    assert.equal((await fixture.request('POST', '/actions', { body })).status, 201)
  }
  await fixture.service.database.pool.query(`update agent_actions set status = 'rejected'`)
  const { client } = fixture.workspace.owner
  const path = `${approvalsPath(fixture)}?view=decided`
  const rows = (text: string) => text.match(/<li class="decided">/g)?.length ?? 0
  const first = await client.get(path)
  assert.equal(rows(first.text), DECIDED_PER_PAGE)
  assert.match(first.text, /before=3" rel="next">Older/)
  const second = await client.get(`${path}&before=3`)
  assert.equal(rows(second.text), 2)
  assert.doesNotMatch(second.text, /rel="next"/)
  assert.equal(rows((await client.get(`${path}&before=x`)).text), DECIDED_PER_PAGE)
  const { owner: stranger, workspaceId } = await createTestWorkspace(fixture.service)
  assert.equal((await stranger.client.get(path)).status, 404)
  const own = await stranger.client.get(`/workspaces/${workspaceId}/approvals?view=decided`)
  assert.equal(rows(own.text), 0)
})
