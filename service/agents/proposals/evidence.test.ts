import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  resolvePrincipal,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
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

interface CitedSource {
  tool?: string
  credential?: 'connection' | 'execution_token'
}

async function fieldsOf(
  fixture: AgentFixture,
  fields_used: string[],
  { tool = 'get_account_state', credential = 'execution_token' }: CitedSource = {},
) {
  const principal = await resolvePrincipal(fixture, credential)
  const evidence = [{ source_tool: tool, fields_used }]
  const body = { ...buildProposal({ type: 'pause', entity: 1 }), evidence }
  const { result } = await submitProposal(fixture.context, principal, body)
  const [record] = result.proposal.evidence_provenance.evidence
  return record?.fields ?? []
}

async function refusalOf(proposal: Promise<unknown>): Promise<Refusal> {
  const error = await proposal.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Refusal, String(error))
  return error
}

it('keeps the values of cited fields as the tool answered them', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  await answer(fixture, { entities: [{ status: 'paused', daily_budget_minor: null }] })
  const at = fixture.clock.now().toISOString()
  const found = { is_found: true, answered_at: at }
  assert.deepEqual(
    await fieldsOf(fixture, ['entities.0.status', 'entities[0].daily_budget_minor']),
    [
      { path: 'entities.0.status', ...found, value: '"paused"' },
      { path: 'entities[0].daily_budget_minor', ...found, value: 'null' },
    ],
  )
})

it('returns 422 naming every cited field that no answer has', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  await answer(fixture, { entities: [{ status: 'paused' }] })
  const missing = ['entities.1', 'roas', 'constructor.name', 'entities.length']
  const refusal = await refusalOf(fieldsOf(fixture, ['entities.0.status', ...missing]))
  assert.equal(refusal.status, 422)
  assert.deepEqual(
    Object.keys(refusal.errors ?? {}),
    missing.map((_, index) => `evidence.0.fields_used.${index + 1}`),
  )
  assert.match(refusal.message, /of get_account_state to this credential, which have: entities\. /)
  const { rows } = await fixture.database.pool.query('select 1 from agent_batches')
  assert.deepEqual(rows, [])
})

it('returns 422 naming a tool that the credential never called over MCP', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  await answer(fixture, { entities: [{ status: 'paused' }] })
  const refusal = await refusalOf(fieldsOf(fixture, ['campaigns'], { tool: 'get_performance' }))
  assert.equal(refusal.status, 422)
  assert.deepEqual(Object.keys(refusal.errors ?? {}), ['evidence.0.source_tool'])
})

it('checks nothing for a credential that never used MCP', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  await answer(fixture, { last: 1 })
  const [ofAnother] = await fieldsOf(fixture, ['last'], { credential: 'connection' })
  assert.deepEqual([ofAnother?.is_found, ofAnother?.value], [null, null])
})

it('returns the first proposal for a retry after the answers are gone', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  await answer(fixture, { entities: [{ status: 'paused' }] })
  const principal = await resolvePrincipal(fixture)
  const body = buildProposal({ type: 'pause', entity: 1 })
  const first = await submitProposal(fixture.context, principal, body)
  await fixture.database.pool.query('delete from agent_tool_answers')
  await answer(fixture, { entities: [] })
  const again = await submitProposal(fixture.context, principal, body)
  assert.equal(again.result.proposal.id, first.result.proposal.id)
})

it('finds fields in the last ten answers of each tool', async test => {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  for (let count = 1; count <= 11; count += 1) {
    await answer(fixture, { [`call_${count}`]: count, last: count })
  }
  const values = (await fieldsOf(fixture, ['call_2', 'last'])).map(({ value }) => value)
  assert.deepEqual(values, ['2', '11'])
  assert.equal((await refusalOf(fieldsOf(fixture, ['call_1']))).status, 422)
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
