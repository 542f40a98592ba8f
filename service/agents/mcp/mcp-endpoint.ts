import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { PROPOSAL_BYTES_MAX } from '@signalbox/contract/agent-action-operations.ts'
import type { Database } from '../../runtime/db/database.ts'
import { limitAddresses } from '../../runtime/http/client-address.ts'
import { toRefusal } from '../../runtime/http/error-responses.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { RequestLimits } from '../../runtime/http/request-limits.ts'
import { recordFailure } from '../../runtime/http/request-log.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { isObject, objectOrEmpty } from '../../runtime/util/is-object.ts'
import {
  type AgentPrincipal,
  requireAgentToken,
} from '../../workspaces/oauth/authenticate-agent.ts'
import {
  CORS_HEADERS,
  corsPreflightHeaders,
  toOauthError,
} from '../../workspaces/oauth/oauth-responses.ts'
import type { McpEra, McpRequest, McpToolServer } from './mcp-server.ts'

/** The authenticated caller. */
export interface McpCaller {
  principal: AgentPrincipal
  requestId: string
  /** Of a call, as they were sent: the library drops members such as `__proto__` in silence. */
  toolArguments: unknown
}

/** Options of the endpoint, independent of its tools. */
interface McpEndpoint {
  url: string
  database: Database
  now: () => Date
  publicOrigin: () => string
  limits: Pick<RequestLimits, 'agents'>
  settings: Pick<Settings, 'mcpOrigins'>
  onTouchError: (err: unknown) => void
  /** Names that are accepted in calls but not listed, with the listed ones. */
  toolAliases?: Readonly<Record<string, string>>
  /** Creates the server for one request of this caller. */
  makeServer: (caller: McpCaller, era: McpEra) => McpToolServer | Promise<McpToolServer>
}

/**
 * Mounts an MCP server behind our own checks of origin, rate, token and body size. Responses are
 * sent through Fastify, so that they keep the headers of the service.
 */
export function mountMcpEndpoint(app: ServiceApp, endpoint: McpEndpoint): void {
  app.register(async mcp => {
    setErrorFormat(mcp)
    rejectForeignOrigins(mcp, endpoint)
    if (endpoint.limits.agents) limitAddresses(mcp, endpoint.limits.agents)
    const onRequest = requireAgentToken(endpoint, 'mcp')
    const config = { credential: 'agent' } as const
    const options = { config, bodyLimit: PROPOSAL_BYTES_MAX, onRequest }
    mcp.post(endpoint.url, options, async ({ headers, body, agent, id }, reply) => {
      if (body === undefined) throw new Refusal(400, 'The body is empty.')
      if (Array.isArray(body)) throw new Refusal(400, NO_BATCHES)
      const signal = abortSignalOf(reply.raw)
      const { arguments: toolArguments } = objectOrEmpty(objectOrEmpty(body).params)
      const caller = { principal: agent, requestId: id, toolArguments }
      // Loads the library on the first request: it takes 10 MB for each thread.
      const { handleMcpRequest } = await import('./mcp-server.ts')
      const received = { ...headers, accept: readAccept(headers.accept) }
      const request = { ...renameTool(received, body, endpoint.toolAliases), signal }
      const makeServer = (era: McpEra) => endpoint.makeServer(caller, era)
      const { response, errors } = await handleMcpRequest(makeServer, request)
      if (response.status === 500) {
        mcp.log.error({ err: errors[0], request_id: id }, 'the MCP server failed')
      }
      reply.code(response.status)
      for (const [name, value] of response.headers) {
        if (!OWN_HEADERS.has(name)) reply.header(name, value)
      }
      // Fastify would send null as JSON; a 202 has no body (MCP, Streamable HTTP).
      if (!response.body) return reply.send()
      return reply.send(Readable.fromWeb(response.body as ReadableStream))
    })
    serveOtherMethods(mcp, endpoint.url)
  })
}

/** The library compares texts: a client that accepts anything accepts both of its types. */
function readAccept(accept = '*/*'): string {
  return accept.split(',').some(range => ANYTHING.test(range)) ? BOTH_TYPES : accept
}

const ANYTHING = /^\s*\*\/\*\s*(?:;(?!\s*q=0(?:\.0*)?\s*$).*)?$/i
const BOTH_TYPES = 'application/json, text/event-stream'

/**
 * A call of an alias with the listed name, in the body and in the header that must be equal to it
 * (MCP 2026-07-28): the library calls only tools that it lists.
 */
function renameTool(
  headers: Record<string, unknown>,
  body: unknown,
  aliases: Readonly<Record<string, string>> = {},
): Pick<McpRequest, 'headers' | 'body'> {
  if (!isObject(body) || body.method !== 'tools/call' || !isObject(body.params)) {
    return { headers, body }
  }
  const { name } = body.params
  if (typeof name !== 'string' || !Object.hasOwn(aliases, name)) return { headers, body }
  const listed = aliases[name]
  const isNamed = headers['mcp-name'] === name
  return {
    headers: isNamed ? { ...headers, 'mcp-name': listed } : headers,
    body: { ...body, params: { ...body.params, name: listed } },
  }
}

/** The service sets these headers itself. */
const OWN_HEADERS = new Set(['cache-control', 'connection'])

/** Rate limits count requests, which a batch of calls would bypass. */
const NO_BATCHES = 'Send one message per request; batches are not supported.'

/** Answers the methods of MCP sessions, which this server does not have. */
function serveOtherMethods(mcp: ServiceApp, url: string): void {
  const config = { credential: 'none' } as const
  const refuse = async () => {
    throw new Refusal(405, 'Use POST here.', { headers: { allow: METHODS.join(', ') } })
  }
  mcp.get(url, { config }, refuse)
  mcp.delete(url, { config }, refuse)
  mcp.options(url, { config }, async (_request, reply) => reply.code(204).headers(PREFLIGHT).send())
}

const METHODS = ['POST', 'OPTIONS']

const PREFLIGHT = {
  ...corsPreflightHeaders(['POST']),
  'access-control-allow-headers':
    'Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id',
}

const OPEN_HEADERS = {
  ...CORS_HEADERS,
  'access-control-expose-headers':
    'MCP-Protocol-Version, Mcp-Session-Id, RateLimit, RateLimit-Policy, ' +
    CORS_HEADERS['access-control-expose-headers'],
}

function setErrorFormat(mcp: ServiceApp): void {
  mcp.setErrorHandler((error: Error, request, reply) => {
    const { status, headers, body } = toMcpError(error, request.url, PROPOSAL_BYTES_MAX)
    recordFailure(request, error, toRefusal(error, request.url))
    reply.code(status).headers(headers).type('application/json; charset=utf-8')
    return reply.send(JSON.stringify(body))
  })
  mcp.addHook('onSend', async (_request, reply) => {
    reply.headers(OPEN_HEADERS)
  })
}

/** Preflights pass; the actual request is rejected with a response that the page can read. */
function rejectForeignOrigins(mcp: ServiceApp, { publicOrigin, settings }: McpEndpoint): void {
  mcp.addHook('onRequest', async ({ method, headers }) => {
    if (method === 'OPTIONS') return
    const problem = findOriginProblem(headers, publicOrigin(), settings.mcpOrigins)
    if (problem !== null) throw new Refusal(403, problem)
  })
}

interface ClosableResponse {
  writableFinished: boolean
  on(event: 'close', listener: () => void): unknown
}

/** Aborts if the connection closes before the response was sent. */
function abortSignalOf(raw: ClosableResponse): AbortSignal {
  const controller = new AbortController()
  raw.on('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}

interface OriginHeaders {
  host?: string | undefined
  origin?: string | undefined
}

/** As the WHATWG URL parser serializes them. */
const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Why the Host or Origin of a request is not allowed, as a sentence; null if it is. This prevents
 * DNS rebinding (MCP, Streamable HTTP, Security Warning). Only browsers send an Origin. If our own
 * origin is a loopback address, as in development, every loopback name and port is allowed.
 */
function findOriginProblem(
  { host, origin }: OriginHeaders,
  publicOrigin: string,
  trustedOrigins: readonly string[],
): string | null {
  const own = new URL(publicOrigin)
  const target = URL.parse(`http://${host ?? ''}`)
  if (!target || !(target.hostname === own.hostname || isLoopbackPeer(target, own))) {
    return `This server is at ${publicOrigin}; send requests there, with that Host.`
  }
  if (origin === undefined) return null
  const page = URL.parse(origin)
  const isTrusted = page && [own.origin, ...trustedOrigins].includes(page.origin)
  if (isTrusted || (page && isLoopbackPeer(page, own))) return null
  return 'Pages of this origin may not use the MCP server; its operator can add it.'
}

function isLoopbackPeer({ hostname }: URL, own: URL): boolean {
  return LOOPBACK_NAMES.has(own.hostname) && LOOPBACK_NAMES.has(hostname)
}

/** Codes of JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const INTERNAL_ERROR = -32_603
/** From the range for server-defined errors. */
const REFUSED = -32_000

interface McpErrorResponse {
  status: number
  headers: Record<string, string>
  body: object
}

/**
 * The response to an error outside the MCP library: an OAuth error for a missing or invalid token
 * (RFC 6750), otherwise a JSON-RPC error without a message ID.
 */
function toMcpError(error: Error, target: string, bodyBytesMax: number): McpErrorResponse {
  const { status, message, headers } = toRefusal(error, target, bodyBytesMax)
  if (status === 401) return toOauthError(error, target)
  const body = { jsonrpc: '2.0', error: { code: codeOf(status), message }, id: null }
  return { status, headers, body }
}

function codeOf(status: number): number {
  if (status === 400) return PARSE_ERROR
  if (status === 413 || status === 415) return INVALID_REQUEST
  return status === 500 ? INTERNAL_ERROR : REFUSED
}
