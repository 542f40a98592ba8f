import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { signForwardedRequest } from '../fixtures/sample-events.ts'
import type { Reply } from '../fixtures/service.ts'
import { type FuzzAccounts, presentCredential } from './fuzz-accounts.ts'
import type { HeaderLines } from './hostile-headers.ts'
import { OWN_ID_PLACEHOLDERS, SECOND_DESTINATION_PLACEHOLDER } from './hostile-urls.ts'
import { CANARY } from './realistic-values.ts'
import type { FuzzRequest } from './request-generator.ts'

const LINE_CHARACTERS_MAX = 2_000

/** Completes the request with the accounts and the time. */
export function buildRequest(request: FuzzRequest, accounts: FuzzAccounts, at: Date): SentRequest {
  const { authorization, queryKey } = presentCredential(accounts, request.credential)
  const path = fillPlaceholders(request.path, accounts)
  const query = [request.query, queryKey && `key=${queryKey}`].filter(Boolean).join('&')
  const headers: HeaderLines = {
    ...request.headers,
    ...(authorization === null ? {} : { authorization }),
    ...(request.isSigned ? signRequest(request, accounts, at) : {}),
  }
  const target = encodeTarget(query === '' ? path : `${path}?${query}`)
  return { method: request.method, target, headers, body: request.body }
}

/** With the IDs of the accounts. */
function fillPlaceholders(path: string, { own, second, agent }: FuzzAccounts): string {
  const ids: Record<string, string> = { destination: own.destinationId, ...agent.ids }
  const places = Object.entries(OWN_ID_PLACEHOLDERS).map(
    ([name, place]) => [place, ids[name] ?? ''] as const,
  )
  return [...places, [SECOND_DESTINATION_PLACEHOLDER, second.destinationId] as const].reduce(
    (written, [place, id]) => written.replaceAll(place, id),
    path,
  )
}

function signRequest({ body }: FuzzRequest, { own }: FuzzAccounts, at: Date): HeaderLines {
  const { ipAddress: clientIp, userAgent } = CANARY
  const secret = own.forwardingSecret
  return signForwardedRequest({ secret, body: body ?? '', at, clientIp, userAgent })
}

/** Other bytes are not HTTP; `http/broken-requests.test.ts` covers them. */
function encodeTarget(target: string): string {
  return target.replaceAll(/[^!-~]/gu, character => encodeURI(character.toWellFormed()))
}

/** A command line that repeats the request, with names instead of credentials. */
export function formatCurlCommand(
  { method, credential, isSigned }: FuzzRequest,
  sent: SentRequest,
): string {
  const lines = Object.entries(sent.headers)
    .filter(([name]) => name !== 'authorization')
    .flatMap(([name, values]) =>
      [values].flat().map(value => `-H ${quoteForBash(`${name}: ${value}`)}`),
    )
  const target = quoteForBash(sent.target.replaceAll(/sbx_\w+/g, 'KEY'))
  const body =
    sent.body === null ? '' : ` --data-binary ${quoteForBash(sent.body.toString('latin1'))}`
  const signed = isSigned ? ', signed' : ''
  return `curl -X ${method} ${target} ${lines.join(' ')} (as ${credential}${signed})${body}`
}

/** Quoted for bash, with escapes for every byte that is not plain ASCII. */
function quoteForBash(text: string): string {
  const escaped = text
    .slice(0, LINE_CHARACTERS_MAX)
    .replaceAll(/[\\']/g, '\\$&')
    .replaceAll(/[^\x20-\x7e]/g, character =>
      character.charCodeAt(0) < 256
        ? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
  const rest = text.length > LINE_CHARACTERS_MAX ? ` (${text.length} bytes in all)` : ''
  return `$'${escaped}'${rest}`
}

/** A request in the form that is sent. */
export interface SentRequest {
  method: string
  /** Path and query, byte for byte. */
  target: string
  headers: HeaderLines
  body: Buffer | null
}

export interface KeepAliveConnections {
  send(request: SentRequest): Promise<Reply>
  close(): void
}

const ANSWER_MILLISECONDS_MAX = 30_000

/**
 * Keep-alive connections. Not `fetch`, which refuses unusual methods, paths and headers. If the
 * service closed an idle connection, it has read no byte of the request, which is then sent once
 * more on a new connection.
 */
export function openKeepAliveConnections(
  origin: string,
  connectionsMax: number,
): KeepAliveConnections {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax })
  const { hostname: host, port } = new URL(origin)

  const exchange = (sent: SentRequest, isFresh: boolean): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const { method, target, body } = sent
      const outgoing = httpRequest({
        host,
        port,
        method,
        path: target,
        headers: encodeHeaders(sent),
        agent: isFresh ? false : agent,
        timeout: ANSWER_MILLISECONDS_MAX,
      })
      outgoing.on('timeout', () => outgoing.destroy(new Error('no response in time')))
      outgoing.on('response', answer => readReply(answer).then(resolve, reject))
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET'
        if (isStale && !isFresh) exchange(sent, true).then(resolve, reject)
        else reject(error)
      })
      outgoing.end(body ?? undefined)
    })

  return { send: sent => exchange(sent, false), close: () => agent.destroy() }
}

/**
 * Header values as UTF-8 bytes, one character each, without bytes that a line cannot contain. A
 * body always has a content-length: Node omits it for a GET with a body, which breaks the
 * connection.
 */
function encodeHeaders({ headers, body }: SentRequest): Record<string, string | string[]> {
  const bytes = (text: string) =>
    Buffer.from(text)
      .toString('latin1')
      .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
  const lines = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(bytes) : bytes(value),
  ])
  const isChunked = 'transfer-encoding' in headers
  const length = body === null || isChunked ? {} : { 'content-length': String(body.length) }
  return { ...Object.fromEntries(lines), ...length }
}

async function readReply(answer: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  const headers = new Headers()
  for (let at = 0; at < answer.rawHeaders.length; at += 2) {
    headers.append(answer.rawHeaders[at] as string, answer.rawHeaders[at + 1] as string)
  }
  return { status: answer.statusCode ?? 0, headers, text, body: parsed(text) }
}

/** Undefined if the text is not JSON, which the checks then report. */
function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return undefined
  }
}
