import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { EVIDENCE_TOOLS } from '@signalbox/contract/agents/evidence.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { buildProposal } from '../../../testing/fixtures/agents.ts'
import { createMcpFixture, type McpFixture } from '../../../testing/fixtures/mcp.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { AGENT_TOOLS } from './routes.ts'
import { toInputSchema, toOutputSchema } from './tool-schema.ts'

/** A list of tools is part of the context of a model; larger ones crowd out its task. */
const LIST_BYTES_MAX = 32_768

const MORE = { type: 'increase_budget', entity: 1, budgetMinor: 11_000 } as const
const SILLY = { type: 'increase_budget', entity: 1, budgetMinor: 1 } as const

type Schema = Record<string, unknown>

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

it('lists every tool with its output schema in at most 32 KiB of JSON', async test => {
  const { tools } = await startMcp(test)
  const bytes = Buffer.byteLength(JSON.stringify(tools))
  assert.ok(bytes <= LIST_BYTES_MAX, `${bytes} bytes`)
  for (const { name, outputSchema } of tools) {
    assert.equal(outputSchema.type, 'object', name)
    assert.ok(Object.keys(outputSchema.properties as object).length > 0, name)
  }
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

/** What another tool describes in full; the other tools are listed with all levels. */
const SHORTENED = ['propose-actions', 'cancel_proposal', 'get_action_batch']

it('describes every member of a result, except where another tool does', async test => {
  const { tools } = await startMcp(test)
  for (const { name, outputSchema } of tools) {
    const { output = {} } = AGENT_TOOLS.find(tool => tool.name === name) ?? {}
    const described = membersOf(outputSchema, outputSchema)
    const all = membersOf(output as Schema, output as Schema)
    assert.ok(described.length > 0, name)
    if (!SHORTENED.includes(name)) assert.deepEqual(described, all, name)
    else assert.ok(described.length < all.length, `${name} is not shortened`)
    assert.deepEqual(
      described.filter(member => !all.includes(member)),
      [],
      name,
    )
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
    list_actions: { status: 'pending', page: 1 },
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

it('describes every tool whose results can be evidence in full', () => {
  assert.deepEqual(
    EVIDENCE_TOOLS.filter(name => SHORTENED.includes(name)),
    [],
  )
})

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

it('shows the names and types of a result, and only so many levels of it', () => {
  const note = { type: ['string', 'null'] }
  const amount = { type: 'object', properties: { amount: { type: 'integer' } } }
  const withMoney = (money: Schema) =>
    listOf({ type: 'object', properties: { before: { anyOf: [money, { type: 'null' }] }, note } })
  assert.deepEqual(toOutputSchema(CHANGES), withMoney(amount))
  assert.deepEqual(toOutputSchema(CHANGES, 2), withMoney({ type: 'object' }))
  assert.deepEqual(toOutputSchema(CHANGES, 1), listOf({ type: 'object' }))
})

it('defines a named object once if it occurs more than once', () => {
  const schema = { type: 'object', properties: { from: MONEY, to: { ...MONEY } } }
  const $ref = '#/$defs/Money'
  const { title: _, required: __, ...money } = MONEY
  assert.deepEqual(toOutputSchema(schema), {
    type: 'object',
    properties: { from: { $ref }, to: { $ref } },
    $defs: { Money: { ...money, properties: { amount: { type: 'integer' } } } },
  })
})

function listOf(items: Schema): Schema {
  return { type: 'object', properties: { changes: { type: 'array', items } } }
}

/** The paths of the members at every level, such as `actions.*.status`. */
function membersOf(schema: Schema, root: Schema, path = ''): string[] {
  const { $ref, properties = {}, items, anyOf = [], oneOf = [] } = schema
  if (typeof $ref === 'string') {
    const name = $ref.slice('#/$defs/'.length)
    return membersOf((root.$defs as Record<string, Schema>)[name] ?? {}, root, path)
  }
  const members = Object.entries(properties as Record<string, Schema>).flatMap(([name, child]) => [
    `${path}${name}`,
    ...membersOf(child, root, `${path}${name}.`),
  ])
  const variants = [...(anyOf as Schema[]), ...(oneOf as Schema[])]
  const inside = variants.flatMap(variant => membersOf(variant, root, path))
  const ofItems = items ? membersOf(items as Schema, root, `${path}*.`) : []
  return [...new Set([...members, ...inside, ...ofItems])].toSorted()
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
