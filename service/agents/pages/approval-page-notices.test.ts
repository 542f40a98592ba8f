import assert from 'node:assert/strict'
import { it } from 'node:test'
import { actionsUnderTest, proposalOf } from '../../../testing/actions-under-test.ts'
import {
  proposed,
  proposedOne,
  queueOf,
  RAISE,
  setMode,
} from '../../../testing/proposed-actions.ts'

it('shows the effect of an approval next to the button', async test => {
  const under = await actionsUnderTest(test)
  const path = await proposedOne(under)
  const { client } = under.workspace.owner
  assert.match((await client.get(path)).text, /Nothing is executed here/)
  await setMode(under, 'ask')
  assert.match(
    (await client.get(path)).text,
    /Approved changes are executed and verified immediately/,
  )
})

it('warns about a different entity name and an unused source', async test => {
  const under = await actionsUnderTest(test)
  const id = under.entityId(1)
  const path = await proposed(under, [
    { ...RAISE, target_entity: { type: 'campaign', id, name: 'Only a test' } },
  ])
  const { text } = await under.workspace.owner.client.get(path)
  assert.match(text, /The agent calls it <bdi>Only a test<\/bdi>/)
  assert.match(text, /The agent cites a source\s+that it never used/)
})

it('ignores a crafted link that claims a decision', async test => {
  const under = await actionsUnderTest(test)
  const path = await proposedOne(under)
  const { text } = await under.workspace.owner.client.get(`${path}?done=approve`)
  assert.doesNotMatch(text, /Your decision is kept/)
})

it('paginates the queue, and shows the first page for an invalid number', async test => {
  const under = await actionsUnderTest(test)
  for (let number = 1; number <= 21; number += 1) {
    const body = proposalOf(under.entityId(1), { idempotency_key: `key-${number}` })
    assert.equal((await under.ask('POST', '/actions', { body })).status, 201)
  }
  const { client } = under.workspace.owner
  const first = await client.get(`${queueOf(under)}?page=x`)
  assert.equal(first.text.match(/<section class="card"/g)?.length, 20)
  assert.match(first.text, /page&#61;2"|page=2"/)
  const second = await client.get(`${queueOf(under)}?page=2`)
  assert.equal(second.text.match(/<section class="card"/g)?.length, 1)
})
