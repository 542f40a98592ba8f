import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { PROPOSAL_BYTES_MAX } from '@signalbox/contract/agent-action-operations.ts'
import { limitAddresses } from '../../access/address-limits.ts'
import type { RequestLimits } from '../../access/request-limits.ts'
import type { Database } from '../../db/database.ts'
import { toRefusal } from '../../http/error-responses.ts'
import { Refusal } from '../../http/refusal.ts'
import { recordFailure } from '../../http/request-log.ts'
import type { ServiceApp } from '../../http/service-app.ts'
import { type AgentPrincipal, requireAgentToken } from '../../oauth/authenticate-agent.ts'
import { CORS_HEADERS, corsPreflightHeaders, toOauthError } from '../../oauth/oauth-responses.ts'
import { handleMcpRequest, type McpEra, type McpToolServer } from './mcp-server.ts'

/** Who calls, as the guard has found out. */
export interface McpCaller {
  principal: AgentPrincipal
  requestId: string
}

/** What the door needs, whichever tools are behind it. */
interface McpEndpoint {
  url: string
  database: Database
  now: () => Date
  publicOrigin: () => string
  limits: Pick<RequestLimits, 'agents'>
  /** Other origins whose pages may call. */
  mcpOrigins: readonly string[]
  onTouchError: (err: unknown) => void
  /** The server that answers one request of this caller. */
  makeServer: (caller: McpCaller, era: McpEra) => McpToolServer
}

/**
 * Serves an MCP server behind our own door: where the request comes from, how many there are, whose
 * token it is, how large it is. The doorframe's headers stay, because its reply answers, too.
 */
export function mountMcpEndpoint(app: ServiceApp, door: McpEndpoint): void {
  app.register(async mcp => {
    setErrorFormat(mcp)
    rejectForeignOrigins(mcp, door)
    if (door.limits.agents) limitAddresses(mcp, door.limits.agents)
    const onRequest = requireAgentToken(door, 'mcp')
    const config = { credential: 'agent' } as const
    const options = { config, bodyLimit: PROPOSAL_BYTES_MAX, onRequest }
    mcp.post(door.url, options, async ({ headers, body, agent, id }, reply) => {
      if (body === undefined) throw new Refusal(400, 'The body is empty.')
      if (Array.isArray(body)) throw new Refusal(400, ONE_MESSAGE)
      const signal = abortSignalOf(reply.raw)
      const caller = { principal: agent, requestId: id }
      const answered = await handleMcpRequest(era => door.makeServer(caller, era), {
        headers,
        body,
        signal,
      })
      const { response, errors } = answered
      if (response.status === 500) {
        mcp.log.error({ err: errors[0], request_id: id }, 'the MCP server failed')
      }
      reply.code(response.status)
      for (const [name, value] of response.headers) {
        if (!OWN_HEADERS.has(name)) reply.header(name, value)
      }
      return reply.send(response.body && Readable.fromWeb(response.body as ReadableStream))
    })
    serveOtherMethods(mcp, door.url)
  })
}

/** Who may keep the answer, and whether the connection stays, is said by the doorframe. */
const OWN_HEADERS = new Set(['cache-control', 'connection'])

/** Each request is limited; a list of a thousand calls in one would not be. */
const ONE_MESSAGE = 'Send one message a request; lists of messages are not served here.'

/** Streams and sessions of older revisions, which a server without sessions does not have. */
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

/** A preflight passes: the request after it is judged, with an answer that the page can read. */
function rejectForeignOrigins(mcp: ServiceApp, { publicOrigin, mcpOrigins }: McpEndpoint): void {
  mcp.addHook('onRequest', async ({ method, headers }) => {
    const fault =
      method === 'OPTIONS' ? null : findOriginProblem(headers, publicOrigin(), mcpOrigins)
    if (fault !== null) throw new Refusal(403, fault)
  })
}

interface ClosableResponse {
  writableFinished: boolean
  on(event: 'close', listener: () => void): unknown
}

/** Aborted when the connection closes before the answer has left. */
function abortSignalOf(raw: ClosableResponse): AbortSignal {
  const hangUp = new AbortController()
  raw.on('close', () => {
    if (!raw.writableFinished) hangUp.abort()
  })
  return hangUp.signal
}

/** Where a request says it was sent to, and from which page. */
interface OriginHeaders {
  host?: string | undefined
  origin?: string | undefined
}

/** As WHATWG URL writes them. */
const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * What is wrong with where a request comes from, as a sentence; null when nothing is. A page that
 * was made to resolve to our address (DNS rebinding) names another Host or sends another Origin
 * than ours (MCP, Streamable HTTP, Security Warning). Only pages send an Origin. In development,
 * where we are at a loopback address ourselves, every name and port of the loopback passes.
 * `welcome` are origins of other pages that an operator trusts.
 */
function findOriginProblem(
  { host, origin }: OriginHeaders,
  publicOrigin: string,
  welcome: readonly string[],
): string | null {
  const own = new URL(publicOrigin)
  const asked = URL.parse(`http://${host ?? ''}`)
  if (!asked || !(asked.hostname === own.hostname || isLoopbackPeer(asked, own))) {
    return `This server is at ${publicOrigin}; send requests there, with that Host.`
  }
  if (origin === undefined) return null
  const page = URL.parse(origin)
  const isWelcome = page && [own.origin, ...welcome].includes(page.origin)
  if (isWelcome || (page && isLoopbackPeer(page, own))) return null
  return 'Pages of this origin may not use the MCP server; its operator can add it.'
}

function isLoopbackPeer({ hostname }: URL, own: URL): boolean {
  return LOOPBACK_NAMES.has(own.hostname) && LOOPBACK_NAMES.has(hostname)
}

/** Codes of JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const INTERNAL_ERROR = -32_603
/** Of the range that is left to servers: the door says no, whatever the message. */
const REFUSED = -32_000

interface McpErrorResponse {
  status: number
  headers: Record<string, string>
  body: object
}

/**
 * What was thrown before the library took over. A missing or dead token is OAuth's business (RFC
 * 6750), everything else is an error of JSON-RPC whose id nobody could know.
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
