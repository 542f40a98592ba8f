import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { buildProposal } from '../../../testing/fixtures/agents.ts'
import { createMcpFixture, type McpFixture } from '../../../testing/fixtures/mcp.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { AGENT_TOOLS } from './routes.ts'
import { toInputSchema, toOutputSchema } from './tool-schema.ts'

/** A list of tools is part of the context of a model; larger ones crowd out its task. */
const LIST_TOKENS_MAX = 5_000
/** Of 25 actions in a list. */
const ACTIONS_TOKENS_MAX = 2_500

const MORE = { type: 'increase_budget', entity: 1, budgetMinor: 11_000 } as const
const SILLY = { type: 'increase_budget', entity: 1, budgetMinor: 1 } as const

type Schema = Record<string, unknown>

/** As models of OpenAI count them; others differ by a few percent. */
function countTokens(text: string): number {
  return encode(text).length
}

interface ListedTool {
  name: string
  description: string
  inputSchema: Schema
  outputSchema: Schema
}

async function startMcp(test: TestContext): Promise<{ mcp: McpFixture; tools: ListedTool[] }> {
  const mcp = await createMcpFixture(await startTestService(test))
  const { tools } = (await mcp.request('tools/list')).result
  return { mcp, tools }
}

it('lists every tool with its output schema in at most 5,000 tokens', async test => {
  const { tools } = await startMcp(test)
  const tokens = countTokens(JSON.stringify({ tools }))
  assert.ok(tokens <= LIST_TOKENS_MAX, `${tokens} tokens`)
  for (const { name, outputSchema } of tools) {
    assert.equal(outputSchema.type, 'object', name)
    assert.ok(Object.keys(outputSchema.properties as object).length > 0, name)
  }
})

it('lists 25 actions in at most 2,500 tokens', async test => {
  const { mcp } = await startMcp(test)
  const { service, tokens } = mcp
  const { adAccountId } = tokens.workspace
  await mcp.callTool('get_account_state')
  const id = (index: number) => `1202000000000${String(90_000 + index)}`
  const entities = Array.from({ length: 25 }, (_, index) => ({
    type: 'campaign' as const,
    id: id(index),
    name: `Spring collection - Buyers of winter coats ${index}`,
    parent_type: 'ad_account' as const,
    parent_id: '900',
    status: 'active' as const,
    daily_budget_minor: 10_000,
  }))
  for (const entity of entities) {
    await service.database.query
      .insertInto('ad_entities')
      .values({
        ...entity,
        ad_account_id: adAccountId,
        version: 1,
        next_fault: null,
        last_change_key: null,
        changed_at: service.clock.now(),
      })
      .execute()
  }
  const body = buildProposal(MORE)
  const actions = entities.map(({ type, id, name }) => ({
    ...body.actions[0],
    target_entity: { type, id, name },
    rationale: 'It sells well, and a person asked for more of it. '.repeat(5),
  }))
  const proposed = await mcp.callTool('propose-actions', { ...body, actions })
  assert.equal(proposed.isError, false, proposed.text)
  const summary = await mcp.callTool('list_actions', { per_page: 25 })
  assert.equal(summary.content.actions.length, 25)
  const count = countTokens(summary.text)
  assert.ok(count <= ACTIONS_TOKENS_MAX, `${count} tokens`)
  const full = await mcp.callTool('list_actions', { per_page: 25, view: 'full' })
  assert.ok(countTokens(full.text) > 4 * count)
  const page = await mcp.callTool('list_actions', { per_page: 2, page: 2 })
  assert.deepEqual(page.content.actions, summary.content.actions.slice(2, 4))
  assert.equal(page.content.has_more, true)
  const one = await mcp.callTool('list_actions', { entity_id: id(3), type: 'increase_budget' })
  assert.deepEqual(
    one.content.actions.map(({ entity }: { entity: string }) => entity),
    [`campaign ${id(3)}`],
  )
  const none = await mcp.callTool('list_actions', { type: 'pause' })
  assert.deepEqual(none.content.actions, [])
})

it('gives every enum a type', async test => {
  const { tools } = await startMcp(test)
  for (const { name, inputSchema, outputSchema } of tools) {
    for (const schema of [...schemasOf(inputSchema), ...schemasOf(outputSchema)]) {
      const isEnum = 'enum' in schema || 'const' in schema
      if (isEnum) assert.equal(schema.type, 'string', `${name}: ${JSON.stringify(schema)}`)
    }
  }
})

it('has no null, union or reference in inputs, which Gemini refuses', async test => {
  const { tools } = await startMcp(test)
  for (const { name, inputSchema } of tools) {
    for (const schema of schemasOf(inputSchema)) {
      const where = `${name}: ${JSON.stringify(schema)}`
      assert.equal(typeof schema.type, 'string', where)
      assert.notEqual(schema.type, 'null', where)
      for (const keyword of ['anyOf', 'oneOf', 'allOf', '$ref', 'const', 'nullable']) {
        assert.equal(keyword in schema, false, where)
      }
    }
  }
})

it('accepts a null that the schema of the input does not offer', async test => {
  const { mcp } = await startMcp(test)
  await mcp.callTool('get_account_state')
  const action = {
    type: 'pause',
    params: {},
    target_entity: { type: 'ad_set', id: '1203', name: null },
    rationale: 'It sells nothing.',
  }
  const { isError, text } = await mcp.callTool('dry_run_actions', { actions: [action] })
  assert.equal(isError, false, text)
})

it('lists the members of each result', async test => {
  const { tools } = await startMcp(test)
  for (const { name, outputSchema } of tools) {
    const { output = {} } = AGENT_TOOLS.find(tool => tool.name === name) ?? {}
    const { properties = {} } = output as { properties?: object }
    assert.deepEqual(Object.keys(outputSchema.properties as object), Object.keys(properties), name)
  }
})

it('returns content that matches the output schema, and the same as text', async test => {
  const { mcp, tools } = await startMcp(test)
  await mcp.callTool('get_account_state')
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const { content } = await mcp.callTool(
    'propose-actions',
    buildProposal(MORE, { ...SILLY, entity: 2 }),
  )
  const [waiting, blocked] = content.proposal.actions
  assert.deepEqual(
    [waiting.policy_decision, blocked.policy_decision],
    ['require_approval', 'block'],
  )
  const { actions } = buildProposal(MORE, { type: 'pause', entity: 3 })
  const missing = { ...actions[0], target_entity: { type: 'campaign', id: '9010' } }
  const given: Record<string, object> = {
    get_performance: { days: 90 },
    dry_run_actions: { actions: [...actions, missing] },
    'propose-actions': buildProposal({ type: 'pause', entity: 3 }),
    cancel_proposal: { batch_id: content.proposal.id },
    list_actions: { status: 'pending', page: 1, view: 'full' },
    explain_delivery: { event_id: 'no such event' },
    search_events: { outcome: 'failed' },
    get_action: { action_id: waiting.id },
    get_action_batch: { batch_id: content.proposal.id },
    get_action_decision_receipt: { action_id: blocked.id },
  }
  for (const { name, outputSchema } of tools) {
    const answer = await mcp.callTool(name, given[name] ?? {})
    assert.equal(answer.isError, false, `${name}: ${answer.text}`)
    assert.deepEqual(JSON.parse(answer.text), answer.content)
    // Closed, so that a member that the list does not describe is an error.
    const check = ajv.compile(closeObjects(outputSchema))
    assert.ok(check(answer.content), `${name}: ${ajv.errorsText(check.errors)}`)
    // The list leaves out bounds, formats and required members.
    const { output = {} } = AGENT_TOOLS.find(tool => tool.name === name) ?? {}
    const checkAll = ajv.compile(output)
    assert.ok(checkAll(answer.content), `${name}: ${ajv.errorsText(checkAll.errors)}`)
  }
})

/** Allows no members beside the described ones, wherever a schema describes some. */
function closeObjects(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (_, value) =>
    value?.type === 'object' && value.properties
      ? { ...value, additionalProperties: false }
      : value,
  )
}

const MONEY = {
  type: 'object',
  title: 'Money',
  required: ['amount'],
  properties: { amount: { type: 'integer', minimum: 0, description: 'In minor units.' } },
}
const CHANGE = {
  type: 'object',
  properties: {
    before: { anyOf: [MONEY, { type: 'null' }] },
    note: { type: ['string', 'null'], maxLength: 9 },
  },
}
const CHANGES = { type: 'object', properties: { changes: { type: 'array', items: CHANGE } } }

it('shows arguments in full', () => {
  const { title: _, ...money } = MONEY
  const note = { type: 'string', description: 'At most 9 characters.' }
  assert.deepEqual(
    toInputSchema(CHANGES),
    listOf({ type: 'object', properties: { before: money, note } }),
  )
})

it('shows the names and types of the members of a result', () => {
  const source = {
    type: 'object',
    properties: {
      ...CHANGES.properties,
      before: CHANGE.properties.before,
      note: CHANGE.properties.note,
      any: { anyOf: [MONEY, { type: 'object' }] },
      unknown: {},
    },
  }
  assert.deepEqual(toOutputSchema(source), {
    type: 'object',
    properties: {
      changes: { type: 'array' },
      before: { type: ['object', 'null'] },
      note: { type: ['string', 'null'] },
      any: { type: 'object' },
      unknown: {},
    },
  })
})

function listOf(items: Schema): Schema {
  return { type: 'object', properties: { changes: { type: 'array', items } } }
}

/** Every schema inside a schema, itself included. */
function schemasOf(schema: Schema): Schema[] {
  const { properties = {}, $defs = {}, items, additionalProperties } = schema
  const { anyOf = [], oneOf = [] } = schema
  const inside = [
    ...Object.values({ ...(properties as object), ...($defs as object) }),
    ...(anyOf as Schema[]),
    ...(oneOf as Schema[]),
    items,
    additionalProperties,
  ].filter(value => typeof value === 'object' && value !== null)
  return [schema, ...(inside as Schema[]).flatMap(schemasOf)]
}
