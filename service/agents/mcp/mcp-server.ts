import { toWebRequest } from '@modelcontextprotocol/node'
import {
  createMcpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { AgentTool, ToolResult } from './agent-tool.ts'
import type { AgentPrompt, AgentResource } from './prompts-and-resources.ts'
import { toInputSchema, toOutputSchema } from './tool-schema.ts'

/** A request with its parsed body. */
export interface McpRequest {
  headers: object
  /** Not undefined. */
  body: unknown
  /** Aborts when the caller disconnects. */
  signal: AbortSignal
}

type Incoming = Parameters<typeof toWebRequest>[0]

export interface McpResponse {
  response: Response
  /** Errors that the library reported; relevant for status 500. */
  errors: readonly Error[]
}

/** 2025: revisions with a handshake. 2026: self-contained requests. */
export type McpEra = 2025 | 2026

/**
 * Handles one request of stateless Streamable HTTP. Each request has its own server, so that any
 * process can answer it and a revoked token takes effect immediately.
 */
export async function handleMcpRequest(
  makeServer: (era: McpEra) => McpToolServer | Promise<McpToolServer>,
  { headers, body, signal }: McpRequest,
): Promise<McpResponse> {
  const errors: Error[] = []
  const refused = refuseSubscription(body)
  if (refused) return { response: refused, errors }
  const { fetch: answer } = createMcpHandler(({ era }) => makeServer(ERAS[era]), {
    onerror: error => void errors.push(error),
  })
  // The request target may be an absolute URL; nothing below uses it.
  const incoming = { method: 'POST', url: '/', headers } as Incoming
  const request = await toWebRequest(incoming, body, { signal })
  return { response: await answer(request, { parsedBody: body }), errors }
}

const ERAS = { legacy: 2025, modern: 2026 } as const

/**
 * Rejects subscriptions as an unknown method, because the library would open a stream. A stream
 * would outlive a revocation and delay a shutdown, and the tools of a release never change.
 */
function refuseSubscription(body: unknown): Response | null {
  const { method, id } = Object(body) as { method?: unknown; id?: unknown }
  const isRequest = typeof id === 'string' || typeof id === 'number'
  if (method !== 'subscriptions/listen' || !isRequest) return null
  const error = { code: METHOD_NOT_FOUND, message: 'Method not found' }
  return Response.json({ jsonrpc: '2.0', error, id }, { status: 404 })
}

/** JSON-RPC 2.0, section 5.1. */
const METHOD_NOT_FOUND = -32_601

export type McpToolServer = McpServer

export interface ToolServerOptions {
  name: string
  title: string
  version: string
  /** For the model, before it sees the tools. */
  instructions: string
  tools: readonly AgentTool[]
  prompts: readonly AgentPrompt[]
  resources: readonly AgentResource[]
  call: (tool: AgentTool, input: unknown) => Promise<ToolResult>
  /** Returns the text of a resource. Throws a Refusal, or an error with a generic message. */
  read: (resource: AgentResource) => Promise<string>
}

/** Creates a server with everything that an agent finds: tools, prompts and resources. */
export function createToolServer(options: ToolServerOptions): McpToolServer {
  const { name, title, version, instructions, tools, call } = options
  const identity = { name, title, version }
  const server = new McpServer(identity, {
    instructions,
    capabilities: {
      tools: { listChanged: false },
      prompts: { listChanged: false },
      resources: { listChanged: false },
    },
    cacheHints: {
      'tools/list': LIST_CACHE,
      'prompts/list': LIST_CACHE,
      'resources/list': LIST_CACHE,
    },
  })
  for (const tool of tools) {
    const { name, title, description, annotations } = tool
    const schemas = {
      inputSchema: toStandardSchema(toInputSchema(tool.input)),
      outputSchema: toStandardSchema(toOutputSchema(tool.output)),
    }
    server.registerTool(name, { title, description, annotations, ...schemas }, async input => ({
      ...(await call(tool, input)),
    }))
  }
  registerPrompts(server, options)
  registerResources(server, options)
  return server
}

/** The lists are constant until the next release. */
const LIST_CACHE = { ttlMs: 300_000, cacheScope: 'public' } as const

function registerPrompts(server: McpServer, { prompts }: ToolServerOptions): void {
  for (const { name, title, description, render, ...prompt } of prompts) {
    const members = Object.entries(prompt.arguments).map(([argument, text]) => [
      argument,
      { type: 'string', description: text },
    ])
    const schema = { type: 'object', properties: Object.fromEntries(members) }
    const config = { title, description, argsSchema: toStandardSchema(schema) }
    server.registerPrompt(name, config, async given => {
      const text = await toProtocolErrors(() => render(given as Record<string, string>))
      return { messages: [{ role: 'user', content: { type: 'text', text } }] }
    })
  }
}

function registerResources(server: McpServer, { resources, read }: ToolServerOptions): void {
  for (const resource of resources) {
    const { name, title, uri, description, mimeType } = resource
    server.registerResource(name, uri, { title, description, mimeType }, async () => {
      const text = await toProtocolErrors(() => read(resource))
      return { contents: [{ uri, mimeType, text }] }
    })
  }
}

/** A prompt or resource has no result for a refusal, so that it is a protocol error. */
async function toProtocolErrors(run: () => string | Promise<string>): Promise<string> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message)
  }
}

/**
 * A schema for clients. The library does not validate with it: `callTool` does, naming every
 * invalid argument, and tests validate the results.
 */
function toStandardSchema(schema: object): StandardSchemaWithJSON {
  const json = () => schema as Record<string, unknown>
  return {
    '~standard': {
      version: 1,
      vendor: 'signalbox',
      validate: value => ({ value }),
      jsonSchema: { input: json, output: json },
    },
  }
}
