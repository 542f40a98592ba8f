import assert from 'node:assert/strict'
import { before, it } from 'node:test'
import { createMcpFixture, type McpFixture } from '../../../testing/fixtures/mcp.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { toInputSchema, toOutputSchema } from './tool-schema.ts'

/** A list of tools is part of the context of a model; larger ones crowd out its task. */
const LIST_BYTES_MAX = 32_768

type Schema = Record<string, unknown>

interface ListedTool {
  name: string
  description: string
  inputSchema: Schema
  outputSchema: Schema
}

let mcp: McpFixture
let tools: ListedTool[]

before(async test => {
  mcp = await createMcpFixture(await startTestService(test as never))
  tools = (await mcp.request('tools/list')).result.tools
})

it('lists every tool with its output schema in at most 32 KiB of JSON', () => {
  const bytes = Buffer.byteLength(JSON.stringify(tools))
  assert.ok(bytes <= LIST_BYTES_MAX, `${bytes} bytes`)
  for (const { name, outputSchema } of tools) {
    assert.equal(outputSchema.type, 'object', name)
    assert.ok(Object.keys(outputSchema.properties as object).length > 0, name)
  }
})

it('gives every enum a type', () => {
  for (const { name, inputSchema, outputSchema } of tools) {
    for (const schema of [...schemasOf(inputSchema), ...schemasOf(outputSchema)]) {
      const isEnum = 'enum' in schema || 'const' in schema
      if (isEnum) assert.equal(schema.type, 'string', `${name}: ${JSON.stringify(schema)}`)
    }
  }
})

it('has no null, union or reference in inputs, which Gemini refuses', () => {
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

it('accepts a null that the schema of the input does not offer', async () => {
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

it('shows two levels of a result, and arguments in full', () => {
  const money = {
    type: 'object',
    title: 'Money',
    required: ['amount'],
    properties: { amount: { type: 'integer', minimum: 0, description: 'In minor units.' } },
  }
  const change = {
    type: 'object',
    properties: {
      before: { anyOf: [money, { type: 'null' }] },
      note: { type: ['string', 'null'], maxLength: 9 },
    },
  }
  const schema = { type: 'object', properties: { changes: { type: 'array', items: change } } }
  const shown = (properties: object) => ({
    type: 'object',
    properties: { changes: { type: 'array', items: { type: 'object', properties } } },
  })
  const { title: _, ...rest } = money
  assert.deepEqual(
    toInputSchema(schema),
    shown({ before: rest, note: { type: 'string', maxLength: 9 } }),
  )
  assert.deepEqual(
    toOutputSchema(schema),
    shown({
      before: { anyOf: [{ type: 'object' }, { type: 'null' }] },
      note: { type: ['string', 'null'] },
    }),
  )
})

/** Every schema inside a schema, itself included. */
function schemasOf(schema: Schema): Schema[] {
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [] } = schema
  const inside = [
    ...Object.values(properties as object),
    ...(anyOf as Schema[]),
    ...(oneOf as Schema[]),
    items,
    additionalProperties,
  ].filter(value => typeof value === 'object' && value !== null)
  return [schema, ...inside.flatMap(schemasOf)]
}
