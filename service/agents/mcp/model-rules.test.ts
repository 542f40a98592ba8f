import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { buildProposal } from '../../../testing/fixtures/agents.ts'
import { createMcpFixture, type McpFixture } from '../../../testing/fixtures/mcp.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

/**
 * The rules of three model APIs for tools, from their public documentation of November 2026:
 *
 * - OpenAI, Structured Outputs, Supported schemas, and Function calling, Strict mode; `default` and
 *   lengths of texts can be refused (openai-node, helpers.md).
 * - Google, FunctionDeclaration and Schema of the Gemini API and of Vertex AI.
 * - Anthropic, Define tools, and the errors that its API answers.
 */
const OPENAI_KEYWORDS = [
  ...['type', 'description', 'enum', 'properties', 'required', 'additionalProperties', 'items'],
  ...['anyOf', 'pattern', 'format', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['exclusiveMaximum', 'minItems', 'maxItems'],
]
const OPENAI_PROPERTIES_MAX = 5_000
const OPENAI_LEVELS_MAX = 10
const OPENAI_ENUM_VALUES_MAX = 1_000
const OPENAI_CHARACTERS_MAX = 120_000
/** `additionalProperties` is for JSON Schema, which both of Google's libraries send. */
const GEMINI_KEYWORDS = [
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'items', 'properties'],
  ...['required', 'minItems', 'maxItems', 'minLength', 'maxLength', 'pattern', 'minimum'],
  ...['maximum', 'anyOf', 'additionalProperties'],
]

interface Schema {
  type: string
  enum?: string[]
  description?: string
  pattern?: string
  minimum?: number
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean
  items?: Schema
}

interface ListedTool {
  name: string
  description: string
  inputSchema: Schema
}

async function startMcp(test: TestContext): Promise<{ mcp: McpFixture; tools: ListedTool[] }> {
  const mcp = await createMcpFixture(await startTestService(test))
  const { tools } = (await mcp.request('tools/list')).result
  await mcp.callTool('get_account_state')
  return { mcp, tools }
}

it('meets the rules of OpenAI strict mode after a converter', async test => {
  const { tools } = await startMcp(test)
  for (const { name, description, inputSchema } of tools) {
    assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
    assert.ok(description.length > 0, name)
    const strict = toStrict(inputSchema)
    assert.equal(strict.type, 'object', name)
    const schemas = schemasOf(strict)
    for (const { schema, level } of schemas) {
      const where = `${name}: ${JSON.stringify(schema)}`
      assert.deepEqual(unknownKeywords(schema, OPENAI_KEYWORDS), [], where)
      assert.ok(level <= OPENAI_LEVELS_MAX, where)
      if (schema.type !== 'object') continue
      assert.equal(schema.additionalProperties, false, where)
      assert.deepEqual(schema.required, Object.keys(schema.properties ?? {}), where)
    }
    const names = schemas.flatMap(({ schema }) => Object.keys(schema.properties ?? {}))
    const values = schemas.flatMap(({ schema }) => schema.enum ?? [])
    assert.ok(names.length <= OPENAI_PROPERTIES_MAX, name)
    assert.ok(values.length <= OPENAI_ENUM_VALUES_MAX, name)
    assert.ok([...names, ...values].join('').length <= OPENAI_CHARACTERS_MAX, name)
  }
})

it('has names that stay different when a client writes underscores for hyphens', async test => {
  const { tools } = await startMcp(test)
  const names = tools.map(({ name }) => name.replaceAll('-', '_').toLowerCase())
  assert.deepEqual([...new Set(names)], names)
})

it('meets the rules of Gemini function declarations', async test => {
  const { tools } = await startMcp(test)
  for (const { name, inputSchema } of tools) {
    assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,62}$/)
    for (const { schema } of schemasOf(inputSchema)) {
      const where = `${name}: ${JSON.stringify(schema)}`
      assert.deepEqual(unknownKeywords(schema, GEMINI_KEYWORDS), [], where)
      // One type, never a list of types, and enums of texts only.
      assert.match(schema.type, /^(object|array|string|integer|number|boolean)$/, where)
      if (schema.enum) assert.equal(schema.type, 'string', where)
      if (schema.type === 'array') assert.ok(schema.items, where)
      for (const member of Object.keys(schema.properties ?? {})) {
        assert.match(member, /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, where)
      }
      const unknown = (schema.required ?? []).filter(member => !schema.properties?.[member])
      assert.deepEqual(unknown, [], where)
    }
  }
})

it('meets the rules of Anthropic tools', async test => {
  const { tools } = await startMcp(test)
  for (const { name, inputSchema } of tools) {
    // Clients put the name of the server before it, as in mcp__signalbox__list_actions.
    assert.match(`mcp__signalbox__${name}`, /^[a-zA-Z0-9_-]{1,64}$/)
    assert.equal(inputSchema.type, 'object', name)
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) assert.equal(keyword in inputSchema, false)
    for (const { schema } of schemasOf(inputSchema)) {
      for (const member of Object.keys(schema.properties ?? {})) {
        assert.match(member, /^[a-zA-Z0-9_.-]{1,64}$/, name)
      }
    }
  }
})

it('lists no null and no ad account, and accepts both', async test => {
  const { mcp, tools } = await startMcp(test)
  assert.doesNotMatch(JSON.stringify(tools.map(tool => tool.inputSchema)), /null|account_id/)
  const { adAccountId } = mcp.tokens.workspace
  for (const tool of tools.filter(hasOnlyOptional)) {
    const members = Object.keys(tool.inputSchema.properties ?? {})
    const nulls = Object.fromEntries(members.map(member => [member, null]))
    for (const account of [null, adAccountId]) {
      const answer = await mcp.callTool(tool.name, { ...nulls, account_id: account })
      assert.equal(answer.isError, false, `${tool.name}: ${answer.text}`)
    }
    for (const account of [adAccountId + 1, String(adAccountId), 'any']) {
      const { text } = await mcp.callTool(tool.name, { account_id: account })
      assert.match(text, /The account_id field must be the ad account of this credential; omit it/)
    }
  }
})

it('answers a model that fills every member because it has to', async test => {
  const { mcp, tools } = await startMcp(test)
  for (const tool of tools.filter(hasOnlyOptional)) {
    const filled = fill(tool.inputSchema) as object
    const answer = await mcp.callTool(tool.name, filled)
    assert.equal(answer.isError, false, `${tool.name} ${JSON.stringify(filled)}: ${answer.text}`)
    const { content } = await mcp.callTool(tool.name)
    if (tool.name !== 'get_account_state') continue
    assert.deepEqual(answer.content.entities, content.entities)
  }
})

for (const type of ['pause', 'resume'] as const) {
  it(`ignores every budget beside a ${type}, and says so`, async test => {
    const { mcp } = await startMcp(test)
    const body = buildProposal({ type, entity: 3 })
    const [action] = body.actions
    const beside = (budget: unknown) => ({
      ...body,
      actions: [{ ...action, params: { new_daily_budget_minor: budget } }],
    })
    const first = await mcp.callTool('propose-actions', beside(0))
    assert.equal(first.isError, false, first.text)
    assert.deepEqual(first.content.notes, [
      `actions.0.params.new_daily_budget_minor was ignored: a ${type} does not change the budget.`,
    ])
    assert.deepEqual(first.content.proposal.actions[0].params, {})
    // The same proposal, since the budget counts for nothing.
    for (const budget of [12_000, null]) {
      const { content } = await mcp.callTool('propose-actions', beside(budget))
      assert.deepEqual(content.proposal, first.content.proposal)
    }
    const { content: without } = await mcp.callTool('propose-actions', body)
    assert.deepEqual(without, { proposal: first.content.proposal })
    const preview = await mcp.callTool('dry_run_actions', { actions: beside(7).actions })
    assert.equal(preview.content.notes.length, 1)
  })
}

it('takes a name that is null for one that is absent, also in a retry', async test => {
  const { mcp } = await startMcp(test)
  const body = buildProposal({ type: 'pause', entity: 3 })
  const { content: first } = await mcp.callTool('propose-actions', body)
  const actions = body.actions.map(({ target_entity: { name: _, ...target }, ...action }) => ({
    ...action,
    target_entity: target,
  }))
  const evidence = body.evidence.map(item => ({ ...item, action_index: null }))
  const nulls = { all_or_nothing: null, account_id: null }
  const again = await mcp.callTool('propose-actions', { ...body, actions, evidence, ...nulls })
  assert.deepEqual(again.content, first, again.text)
})

it('refuses null for a member that is required', async test => {
  const { mcp } = await startMcp(test)
  const { text } = await mcp.callTool('get_action', { action_id: null })
  assert.match(text, /The action_id field must be an integer\./)
})

/** Arguments that a model without a task may choose. */
function hasOnlyOptional({ inputSchema: { required = [] } }: ListedTool): boolean {
  return required.length === 0
}

/** What a model writes for a schema that requires every member: filters filter nothing. */
function fill(schema: Schema): unknown {
  if (schema.type === 'object') {
    const members = Object.entries(schema.properties ?? {})
    return Object.fromEntries(members.map(([name, child]) => [name, fill(child)]))
  }
  if (schema.type === 'integer') return schema.minimum ?? 0
  if (schema.type === 'boolean') return false
  if (schema.enum) return schema.enum.includes('any') ? 'any' : schema.enum[0]
  return 'any'
}

/** What strict converters do, such as `ensure_strict_json_schema` of OpenAI's Agents SDK. */
function toStrict(schema: Schema): Schema {
  const { properties, items } = schema
  if (items) return { ...schema, items: toStrict(items) }
  if (schema.type !== 'object') return schema
  assert.notEqual(schema.additionalProperties, true)
  const members = Object.entries(properties ?? {})
  return {
    ...schema,
    additionalProperties: false,
    required: members.map(([name]) => name),
    properties: Object.fromEntries(members.map(([name, child]) => [name, toStrict(child)])),
  }
}

function unknownKeywords(schema: object, known: readonly string[]): string[] {
  return Object.keys(schema).filter(keyword => !known.includes(keyword) && keyword !== '$schema')
}

/** Every schema inside a schema, itself included, with its level. */
function schemasOf(schema: Schema, level = 1): { schema: Schema; level: number }[] {
  const inside = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
  ]
  return [{ schema, level }, ...inside.flatMap(child => schemasOf(child, level + 1))]
}
