import { setTimeout as delay } from 'node:timers/promises'
import { fromJsonSchema, type McpServer, type ServerContext } from '@modelcontextprotocol/server'

/** A red pixel, and silence. */
export const IMAGE = {
  data:
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4' +
    'nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  mimeType: 'image/png',
}
const AUDIO = {
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=',
  mimeType: 'audio/wav',
}
const STEP_MILLISECONDS = 20

/** Tools of the suites that need no input from the client. */
export function registerFixtureTools(server: McpServer): void {
  registerContentTools(server)
  registerNotifyingTools(server)
  server.registerTool('test_error_handling', { description: 'Fails.' }, async () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Has a schema of every kind.', inputSchema: fromJsonSchema(RICH_SCHEMA) },
    async () => ({ content: [text('Checked.')] }),
  )
  const word = { type: 'string', 'x-mcp-header': 'Word' }
  const inputSchema = fromJsonSchema({ type: 'object', properties: { word } })
  server.registerTool(
    'test_parameter_header',
    { description: 'A header says it too.', inputSchema },
    async () => ({ content: [text('The same.')] }),
  )
}

function registerContentTools(server: McpServer): void {
  const embedded = { uri: 'test://embedded-resource', mimeType: 'text/plain' }
  const mixed = { uri: 'test://mixed-content-resource', mimeType: 'application/json' }
  const resource = { ...embedded, text: 'This is an embedded resource content.' }
  const data = { ...mixed, text: JSON.stringify({ test: 'data', value: 123 }) }
  server.registerTool('test_simple_text', { description: 'Answers text.' }, async () => ({
    content: [text('This is a simple text response for testing.')],
  }))
  server.registerTool('test_image_content', { description: 'Answers a picture.' }, async () => ({
    content: [{ type: 'image', ...IMAGE }],
  }))
  server.registerTool('test_audio_content', { description: 'Answers a sound.' }, async () => ({
    content: [{ type: 'audio', ...AUDIO }],
  }))
  server.registerTool('test_embedded_resource', { description: 'A resource.' }, async () => ({
    content: [{ type: 'resource', resource }],
  }))
  server.registerTool('test_multiple_content_types', { description: 'Of all.' }, async () => ({
    content: [
      text('Multiple content types test:'),
      { type: 'image', ...IMAGE },
      { type: 'resource', resource: data },
    ],
  }))
}

/** Tools that send notifications before the result. */
function registerNotifyingTools(server: McpServer): void {
  const words = ['Tool execution started', 'Tool processing data', 'Tool execution completed']
  for (const name of ['test_tool_with_logging', 'test_logging_tool']) {
    server.registerTool(
      name,
      { description: 'Logs, then answers.' },
      async (ctx: ServerContext) => {
        for (const data of words) {
          await ctx.mcpReq.log('info', data)
          await delay(STEP_MILLISECONDS)
        }
        return { content: [text('Logged.')] }
      },
    )
  }
  const description = 'Tells how far it is.'
  for (const name of ['test_tool_with_progress', 'test_streaming_elicitation']) {
    server.registerTool(name, { description }, async ({ mcpReq }: ServerContext) => {
      const progressToken = mcpReq._meta?.progressToken
      for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
        const params = { progressToken, progress, total: 100 }
        await mcpReq.notify({ method: 'notifications/progress', params })
        await delay(STEP_MILLISECONDS)
      }
      return { content: [text('Done.')] }
    })
  }
}

export function text(text: string) {
  return { type: 'text', text } as const
}

/** The scenario `json-schema-2020-12` compares it, keyword by keyword. */
const RICH_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}
