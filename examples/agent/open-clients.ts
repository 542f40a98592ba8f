import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import * as oldHttp from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { MemoryProvider } from './memory-provider.ts'

/** Shows the person an address, and returns the callback that their browser was sent to. */
export type AskPerson = (url: URL) => Promise<URL>

export interface ToolResult {
  isError: boolean
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: the story looks at any answer
  content: any
}

/** One of the official clients, connected. */
export interface AgentClient {
  /** The revision of MCP that it and the server agreed on. */
  revision: string
  serverVersion: string
  listTools(): Promise<string[]>
  call(name: string, given?: object): Promise<ToolResult>
  close(): Promise<void>
}

export type OpenClient = (mcpUrl: string, askPerson: AskPerson) => Promise<AgentClient>

/** How the official clients are opened: from one address alone, whatever they need they find. */
export const OPEN_CLIENTS: Readonly<Record<string, OpenClient>> = {
  'client 2, auto': (url, ask) => openNew(url, ask, { versionNegotiation: { mode: 'auto' } }),
  'client 2, default': (url, ask) => openNew(url, ask, {}),
  'sdk 1': openOld,
}

const IDENTITY = { name: 'signalbox-example-agent', version: '1.0.0' }

async function openNew(
  mcpUrl: string,
  askPerson: AskPerson,
  options: ConstructorParameters<typeof NewClient>[1],
): Promise<AgentClient> {
  const authProvider = new MemoryProvider('Example agent')
  const transport = () => new NewTransport(new URL(mcpUrl), { authProvider: authProvider as never })
  const first = transport()
  await refusal(new NewClient(IDENTITY, options).connect(first))
  const callback = await askPerson(whereToAsk(authProvider))
  await first.finishAuth(authProvider.checkedCallback(callback))
  const client = new NewClient(IDENTITY, options)
  await client.connect(transport())
  return {
    revision: client.getNegotiatedProtocolVersion() ?? '',
    serverVersion: client.getServerVersion()?.version ?? '',
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, given = {}) =>
      resultOf(await client.callTool({ name, arguments: { ...given } })),
    close: () => client.close(),
  }
}

async function openOld(mcpUrl: string, askPerson: AskPerson): Promise<AgentClient> {
  const authProvider = new MemoryProvider('Example agent')
  const transport = () =>
    new oldHttp.StreamableHTTPClientTransport(new URL(mcpUrl), {
      authProvider: authProvider as never,
    })
  const first = transport()
  await refusal(new OldClient(IDENTITY).connect(first as never))
  const callback = await askPerson(whereToAsk(authProvider))
  await first.finishAuth(authProvider.checkedCallback(callback).get('code') ?? '')
  const client = new OldClient(IDENTITY)
  const second = transport()
  await client.connect(second as never)
  return {
    revision: second.protocolVersion ?? '',
    serverVersion: client.getServerVersion()?.version ?? '',
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, given = {}) =>
      resultOf(await client.callTool({ name, arguments: { ...given } })),
    close: () => client.close(),
  }
}

/** A client without a token must not get in; it has to learn where to ask for one. */
async function refusal(connecting: Promise<void>): Promise<void> {
  if (await isUnauthorized(connecting)) return
  throw new Error('the MCP server let in a client without a token')
}

/** Whether an agent's token opens nothing any more. */
export function isRefused(agent: AgentClient): Promise<boolean> {
  return isUnauthorized(agent.call('get_account_state'))
}

function isUnauthorized(asking: Promise<unknown>): Promise<boolean> {
  return asking.then(
    () => false,
    (error: Error) => {
      if (error.constructor.name === 'UnauthorizedError') return true
      throw error
    },
  )
}

function whereToAsk({ authorizationUrl }: MemoryProvider): URL {
  if (authorizationUrl) return authorizationUrl
  throw new Error('the client found no way to ask the person')
}

function resultOf(result: object): ToolResult {
  const {
    isError = false,
    content,
    structuredContent,
  } = result as {
    isError?: boolean
    content: { text: string }[]
    structuredContent?: unknown
  }
  return { isError, text: content[0]?.text ?? '', content: structuredContent }
}
