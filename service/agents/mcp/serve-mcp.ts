import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { PROPOSAL_BYTES_MAX } from '@signalbox/contract/agent-action-operations.ts'
import { limitAddresses } from '../../access/limit-addresses.ts'
import type { RequestLimits } from '../../access/request-limits.ts'
import type { Database } from '../../db/database.ts'
import { refusalOf } from '../../http/failure-answers.ts'
import { Refusal } from '../../http/refusal.ts'
import { noteFailure } from '../../http/request-log.ts'
import type { ServiceApp } from '../../http/service-app.ts'
import { agentGuard } from '../../oauth/agent-guard.ts'
import { OPEN_TO_PAGES, preflightHeaders } from '../../oauth/oauth-shape.ts'
import type { AgentPrincipal } from '../../oauth/verify-agent-token.ts'
import { foreignFault } from './foreign-request.ts'
import { mcpFailure } from './mcp-failure.ts'
import { answerMcp, type McpEra, type McpToolServer } from './mcp-server.ts'

/** Who calls, as the guard has found out. */
export interface McpCaller {
  principal: AgentPrincipal
  requestId: string
}

/** What the door needs, whichever tools are behind it. */
export interface McpDoor {
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
export function serveMcp(app: ServiceApp, door: McpDoor): void {
  app.register(async mcp => {
    answerInShape(mcp)
    refuseForeigners(mcp, door)
    if (door.limits.agents) limitAddresses(mcp, door.limits.agents)
    const onRequest = agentGuard(door, 'mcp')
    const config = { credential: 'agent' } as const
    const options = { config, bodyLimit: PROPOSAL_BYTES_MAX, onRequest }
    mcp.post(door.url, options, async ({ headers, body, agent, id }, reply) => {
      if (body === undefined) throw new Refusal(400, 'The body is empty.')
      if (Array.isArray(body)) throw new Refusal(400, ONE_MESSAGE)
      const signal = signalOf(reply.raw)
      const caller = { principal: agent, requestId: id }
      const answered = await answerMcp(era => door.makeServer(caller, era), {
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
        if (!OURS.has(name)) reply.header(name, value)
      }
      return reply.send(response.body && Readable.fromWeb(response.body as ReadableStream))
    })
    serveOtherMethods(mcp, door.url)
  })
}

/** Who may keep the answer, and whether the connection stays, is said by the doorframe. */
const OURS = new Set(['cache-control', 'connection'])

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
  ...preflightHeaders(['POST']),
  'access-control-allow-headers':
    'Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id',
}

const OPEN_HEADERS = {
  ...OPEN_TO_PAGES,
  'access-control-expose-headers':
    'MCP-Protocol-Version, Mcp-Session-Id, RateLimit, RateLimit-Policy, ' +
    OPEN_TO_PAGES['access-control-expose-headers'],
}

function answerInShape(mcp: ServiceApp): void {
  mcp.setErrorHandler((error: Error, request, reply) => {
    const { status, headers, body } = mcpFailure(error, request.url, PROPOSAL_BYTES_MAX)
    noteFailure(request, error, refusalOf(error, request.url))
    reply.code(status).headers(headers).type('application/json; charset=utf-8')
    return reply.send(JSON.stringify(body))
  })
  mcp.addHook('onSend', async (_request, reply) => {
    reply.headers(OPEN_HEADERS)
  })
}

/** A preflight passes: the request after it is judged, with an answer that the page can read. */
function refuseForeigners(mcp: ServiceApp, { publicOrigin, mcpOrigins }: McpDoor): void {
  mcp.addHook('onRequest', async ({ method, headers }) => {
    const fault = method === 'OPTIONS' ? null : foreignFault(headers, publicOrigin(), mcpOrigins)
    if (fault !== null) throw new Refusal(403, fault)
  })
}

interface Answering {
  writableFinished: boolean
  on(event: 'close', listener: () => void): unknown
}

/** Aborted when the connection closes before the answer has left. */
function signalOf(raw: Answering): AbortSignal {
  const hangUp = new AbortController()
  raw.on('close', () => {
    if (!raw.writableFinished) hangUp.abort()
  })
  return hangUp.signal
}
