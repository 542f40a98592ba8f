import { fromJsonSchema, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import type { McpEra } from '../../service/agents/mcp/mcp-server.ts'
import { IMAGE, registerFixtureTools } from './fixture-tools.ts'
import { registerInputTools, STATE_CODEC } from './input-tools.ts'

/**
 * The tools, resources and prompts that the official suites require of a server, according to the
 * descriptions of their scenarios. Tools that need input from the client are omitted
 * (`expected-failures.ts`).
 */
export function createFixtureServer(era: McpEra): McpServer {
  const isOld = era === 2025
  const server = new McpServer(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false, ...(isOld && { subscribe: true }) },
        completions: {},
        logging: {},
      },
      requestState: { verify: STATE_CODEC.verify },
    },
  )
  registerFixtureTools(server)
  registerInputTools(server)
  registerResources(server)
  registerPrompts(server)
  server.server.setRequestHandler('completion/complete', async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }))
  if (!isOld) return server
  // Without sessions there is no client to notify; the suite only checks the response.
  server.server.setRequestHandler('resources/subscribe', async () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}))
  return server
}

function registerResources(server: McpServer): void {
  const text = { uri: 'test://static-text', mimeType: 'text/plain' }
  server.registerResource('text', text.uri, describe('Some text.', text.mimeType), async () => ({
    contents: [{ ...text, text: 'This is the content of the static text resource.' }],
  }))
  const image = { uri: 'test://static-binary', mimeType: 'image/png' }
  server.registerResource('image', image.uri, describe('A pixel.', image.mimeType), async () => ({
    contents: [{ ...image, blob: IMAGE.data }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  const json = 'application/json'
  server.registerResource('data', template, describe('By id.', json), async (uri, { id }) => {
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri: uri.href, mimeType: json, text }] }
  })
}

function describe(description: string, mimeType: string) {
  return { description, mimeType }
}

function registerPrompts(server: McpServer): void {
  const said = (text: string) => ({ role: 'user', content: { type: 'text', text } }) as const
  server.registerPrompt('test_simple_prompt', { description: 'One sentence.' }, async () => ({
    messages: [said('This is a simple prompt for testing.')],
  }))
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A sentence of two arguments.', argsSchema: texts('arg1', 'arg2') },
    async ({ arg1, arg2 }) => ({
      messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource inside.', argsSchema: texts('resourceUri') },
    async ({ resourceUri: uri = '' }) => {
      const resource = {
        uri,
        mimeType: 'text/plain',
        text: 'Embedded resource content for testing.',
      }
      return {
        messages: [
          { role: 'user', content: { type: 'resource', resource } },
          said('Please process the embedded resource above.'),
        ],
      }
    },
  )
  server.registerPrompt('test_prompt_with_image', { description: 'A picture.' }, async () => ({
    messages: [
      { role: 'user', content: { type: 'image', ...IMAGE } },
      said('Please analyze the image above.'),
    ],
  }))
}

/** An object with these members, all of them required text. */
function texts(...names: string[]) {
  const properties = Object.fromEntries(
    names.map(name => [name, { type: 'string' as const, description: `The ${name}.` }]),
  )
  return fromJsonSchema<Record<string, string>>({ type: 'object', properties, required: names })
}
