import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  buildBudgetProposal,
  startAgentActionsFixture,
} from '../../../testing/fixtures/agent-actions.ts'

it('lists the entities of its own ad account, and of no other, if one is not found', async test => {
  const fixture = await startAgentActionsFixture(test)
  const adAccountId = await fixture.addAccount()
  const secret = await fixture.issueToken({ adAccountId })
  const { adAccountId: otherAccountId } = fixture.workspace
  // It exists, but in the other ad account of the same workspace.
  const body = buildBudgetProposal(fixture.entityId(1, otherAccountId))
  const { rows: campaigns } = await fixture.service.database.pool.query(
    "select type, id, name from ad_entities where ad_account_id = $1 and type = 'campaign'",
    [adAccountId],
  )
  const byId = campaigns.toSorted((a, b) => Number(BigInt(a.id) - BigInt(b.id)))
  assert.ok(byId.length > 1)
  const preview = await fixture.request('POST', '/actions/dry-run', { secret, body })
  assert.equal(preview.status, 200, preview.text)
  assert.deepEqual(preview.body.valid_entities, byId)
  for (const status of [201, 200]) {
    const reply = await fixture.request('POST', '/actions', { secret, body })
    assert.equal(reply.status, status, reply.text)
    assert.equal(reply.body.proposal.policy_reasons[0].code, 'entity_not_found')
    assert.deepEqual(reply.body.valid_entities, byId)
  }
  const right = buildBudgetProposal(fixture.entityId(1, adAccountId))
  for (const path of ['/actions/dry-run', '/actions']) {
    const { body: found } = await fixture.request('POST', path, {
      secret,
      body: { ...right, idempotency_key: 'right' },
    })
    assert.equal('valid_entities' in found, false, path)
  }
})
