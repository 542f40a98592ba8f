import { randomBytes } from 'node:crypto'
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import * as oldHttp from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** Shows the person a URL, and returns the callback to which their browser was redirected. */
type AuthorizePerson = (url: URL) => Promise<URL>

interface ToolResult {
  isError: boolean
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: the scenario asserts on any response
  content: any
}

/** One of the official clients, connected. */
export interface AgentClient {
  /** The negotiated revision of MCP. */
  revision: string
  serverVersion: string
  listTools(): Promise<string[]>
  call(name: string, given?: object): Promise<ToolResult>
  close(): Promise<void>
}

type OpenClient = (mcpUrl: string, askPerson: AuthorizePerson) => Promise<AgentClient>

/** Connects an official client, which discovers everything else from one URL. */
export const OPEN_CLIENTS: Readonly<Record<string, OpenClient>> = {
  'client 2, auto': (url, ask) => openClient2(url, ask, { versionNegotiation: { mode: 'auto' } }),
  'client 2, default': (url, ask) => openClient2(url, ask, {}),
  'sdk 1': openSdk1,
}

const IDENTITY = { name: 'signalbox-example-agent', version: '1.0.0' }

async function openClient2(
  mcpUrl: string,
  askPerson: AuthorizePerson,
  options: ConstructorParameters<typeof NewClient>[1],
): Promise<AgentClient> {
  const authProvider = new InMemoryOAuthProvider('Example agent')
  const transport = () => new NewTransport(new URL(mcpUrl), { authProvider: authProvider as never })
  const first = transport()
  await expectUnauthorized(new NewClient(IDENTITY, options).connect(first))
  const callback = await askPerson(getAuthorizationUrl(authProvider))
  await first.finishAuth(authProvider.validateCallback(callback))
  const client = new NewClient(IDENTITY, options)
  await client.connect(transport())
  return {
    revision: client.getNegotiatedProtocolVersion() ?? '',
    serverVersion: client.getServerVersion()?.version ?? '',
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, given = {}) =>
      toToolResult(await client.callTool({ name, arguments: { ...given } })),
    close: () => client.close(),
  }
}

async function openSdk1(mcpUrl: string, askPerson: AuthorizePerson): Promise<AgentClient> {
  const authProvider = new InMemoryOAuthProvider('Example agent')
  const transport = () =>
    new oldHttp.StreamableHTTPClientTransport(new URL(mcpUrl), {
      authProvider: authProvider as never,
    })
  const first = transport()
  await expectUnauthorized(new OldClient(IDENTITY).connect(first as never))
  const callback = await askPerson(getAuthorizationUrl(authProvider))
  await first.finishAuth(authProvider.validateCallback(callback).get('code') ?? '')
  const client = new OldClient(IDENTITY)
  const second = transport()
  await client.connect(second as never)
  return {
    revision: second.protocolVersion ?? '',
    serverVersion: client.getServerVersion()?.version ?? '',
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, given = {}) =>
      toToolResult(await client.callTool({ name, arguments: { ...given } })),
    close: () => client.close(),
  }
}

/** A client without a token must get an error that shows where to get one. */
async function expectUnauthorized(connecting: Promise<void>): Promise<void> {
  if (await isUnauthorized(connecting)) return
  throw new Error('the MCP server accepted a client without a token')
}

/** Whether the token of an agent has stopped working. */
export function isRevoked(agent: AgentClient): Promise<boolean> {
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

function getAuthorizationUrl({ authorizationUrl }: InMemoryOAuthProvider): URL {
  if (authorizationUrl) return authorizationUrl
  throw new Error('the client found no way to ask the person')
}

function toToolResult(result: object): ToolResult {
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

/** The response to the registration. */
interface ClientInformation {
  client_id: string
}

interface Tokens {
  access_token: string
  token_type: string
}

/**
 * The callbacks that the official clients, old and new, require: to store data, and to show a URL
 * to the person. Everything is in memory only.
 */
class InMemoryOAuthProvider {
  readonly redirectUrl = 'http://127.0.0.1:8765/callback'
  readonly clientMetadata: {
    client_name: string
    redirect_uris: string[]
    grant_types: string[]
    response_types: string[]
    token_endpoint_auth_method: string
  }
  /** The URL for the person; null until the client needs it. */
  authorizationUrl: URL | null = null
  readonly #state = randomBytes(16).toString('base64url')
  #client: ClientInformation | undefined
  #tokens: Tokens | undefined
  #discovered: unknown
  #verifier = ''

  constructor(name: string) {
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  state(): string {
    return this.#state
  }

  // biome-ignore-start lint/suspicious/noExplicitAny: the two libraries type these differently
  clientInformation(): any {
    return this.#client
  }

  saveClientInformation(information: any): void {
    this.#client = information
  }

  tokens(): any {
    return this.#tokens
  }

  saveTokens(tokens: any): void {
    this.#tokens = tokens
  }

  /** The discovered authorization server, so that the code is sent to no other. */
  discoveryState(): any {
    return this.#discovered
  }

  saveDiscoveryState(state: any): void {
    this.#discovered = state
  }
  // biome-ignore-end lint/suspicious/noExplicitAny: see above

  /** Discards the credentials that the server no longer accepts, and keeps the others. */
  invalidateCredentials(scope: string): void {
    if (scope === 'tokens' || scope === 'all') this.#tokens = undefined
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  /** The callback of the person's browser; throws unless it belongs to our request. */
  validateCallback(callback: URL): URLSearchParams {
    const { searchParams } = callback
    if (searchParams.get('state') !== this.#state) throw new Error('the callback is not ours')
    if (!searchParams.has('code')) throw new Error(`the callback says ${callback.search}`)
    return searchParams
  }
}
