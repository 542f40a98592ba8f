import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  resolvePrincipal,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { submitProposal } from '../executor/execution-triggers.ts'
import { recordToolAnswer, recordToolUse } from './tool-use-store.ts'

async function answer(fixture: AgentFixture, result: object): Promise<void> {
  const { database, clock } = fixture
  const principal = await resolvePrincipal(fixture)
  const tool = 'get_account_state'
  await recordToolUse(database, principal, tool, clock.now())
  const answeredAt = clock.now()
  await recordToolAnswer(database, principal, { tool, answeredAt, answer: result })
}

async function fieldsOf(
  fixture: AgentFixture,
  fields_used: string[],
  credential: 'connection' | 'execution_token' = 'execution_token',
) {
  const principal = await resolvePrincipal(fixture, credential)
  const evidence = [{ source_tool: 'get_account_state', fields_used }]
  const body = { ...buildProposal({ type: 'pause', entity: 1 }), evidence }
  const { result } = await submitProposal(fixture.context, principal, body)
  const [record] = result.proposal.evidence_provenance.evidence
  return record?.fields ?? []
}

it('keeps the values of cited fields as the tool answered them', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  await answer(fixture, { entities: [{ status: 'paused', daily_budget_minor: null }] })
  const at = fixture.clock.now().toISOString()
  const found = { is_found: true, answered_at: at }
  const missing = { is_found: false, value: null, answered_at: null }
  const paths = ['entities.0.status', 'entities[0].daily_budget_minor', 'entities.1', 'roas']
  assert.deepEqual(await fieldsOf(fixture, [...paths, 'constructor.name', 'entities.length']), [
    { path: 'entities.0.status', ...found, value: '"paused"' },
    { path: 'entities[0].daily_budget_minor', ...found, value: 'null' },
    { path: 'entities.1', ...missing },
    { path: 'roas', ...missing },
    { path: 'constructor.name', ...missing },
    { path: 'entities.length', ...missing },
  ])
})

it('checks only answers to the same credential, the last three of each tool', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  for (const count of [1, 2, 3, 4]) await answer(fixture, { [`call_${count}`]: count, last: count })
  const values = (await fieldsOf(fixture, ['call_1', 'call_2', 'last'])).map(({ value }) => value)
  assert.deepEqual(values, [null, '2', '4'])
  const [ofAnother] = await fieldsOf(fixture, ['last'], 'connection')
  assert.deepEqual([ofAnother?.is_found, ofAnother?.value], [null, null])
})

it('truncates long values, and checks nothing in answers that are too long to keep', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  await answer(fixture, { text: 'x'.repeat(1_000) })
  const [long] = await fieldsOf(fixture, ['text'])
  assert.equal(long?.value, `"${'x'.repeat(299)}…`)
  await answer(fixture, { other: 'x'.repeat(140_000) })
  const [unknown] = await fieldsOf(fixture, ['other'])
  assert.equal(unknown?.is_found, null)
})
