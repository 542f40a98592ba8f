import { toWebRequest } from '@modelcontextprotocol/node'
import {
  createMcpHandler,
  McpServer,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import type { AgentTool, ToolResult } from './agent-tool.ts'

/** One request, its body read already. */
export interface McpRequest {
  headers: object
  /** Not undefined. */
  body: unknown
  /** Ends when whoever asked hangs up. */
  signal: AbortSignal
}

type Incoming = Parameters<typeof toWebRequest>[0]

export interface McpResponse {
  response: Response
  /** What the library reported on the way; of interest when it answered 500. */
  errors: readonly Error[]
}

/** 2025: the revisions with a handshake; 2026: every request says all of itself. */
export type McpEra = 2025 | 2026

/**
 * Answers one request of Streamable HTTP, without sessions: each request gets a server of its own,
 * so that any process can answer any request, and a revoked token opens nothing a moment later.
 */
export async function handleMcpRequest(
  makeServer: (era: McpEra) => McpToolServer,
  { headers, body, signal }: McpRequest,
): Promise<McpResponse> {
  const errors: Error[] = []
  const refused = refuseSubscription(body)
  if (refused) return { response: refused, errors }
  const { fetch: answer } = createMcpHandler(({ era }) => makeServer(ERAS[era]), {
    onerror: error => void errors.push(error),
  })
  // The target that was written may be a whole URL, and nobody behind this line looks at it.
  const incoming = { method: 'POST', url: '/', headers } as Incoming
  const request = await toWebRequest(incoming, body, { signal })
  return { response: await answer(request, { parsedBody: body }), errors }
}

const ERAS = { legacy: 2025, modern: 2026 } as const

/**
 * A stream that waits for news would outlive a revocation and hold up a stop, and the tools of a
 * release never change: the library would open one, so it is answered here as a method that does
 * not exist.
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

/** A server for one request, made but not connected yet. */
export type McpToolServer = McpServer

export interface ToolServerOptions {
  name: string
  title: string
  version: string
  /** For the model, before it sees the tools. */
  instructions: string
  tools: readonly AgentTool[]
  call: (tool: AgentTool, given: unknown) => Promise<ToolResult>
}

/** A server that has these tools and nothing else. */
export function createToolServer(options: ToolServerOptions): McpToolServer {
  const { tools, call, instructions, ...identity } = options
  const server = new McpServer(identity, {
    instructions,
    capabilities: { tools: { listChanged: false } },
    cacheHints: { 'tools/list': { ttlMs: LIST_MILLISECONDS, cacheScope: 'public' } },
  })
  for (const tool of tools) {
    const { name, title, description, annotations } = tool
    const schemas = {
      inputSchema: toStandardSchema(tool.input),
      outputSchema: toStandardSchema(tool.output),
    }
    server.registerTool(name, { title, description, annotations, ...schemas }, async given => ({
      ...(await call(tool, given)),
    }))
  }
  return server
}

/** The list is the same for everybody until the next release. */
const LIST_MILLISECONDS = 300_000

/**
 * A schema that clients are shown. The library does not check with it: `callTool` does, in
 * sentences that name every wrong argument, and tests check what we answer.
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
