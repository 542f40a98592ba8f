import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Reply } from '../service-under-test.ts'
import type { HeaderLines } from './hostile-heads.ts'

/** A request as it goes out. */
export interface SentRequest {
  method: string
  /** Path and query, byte for byte. */
  target: string
  headers: HeaderLines
  body: Buffer | null
}

export interface KeptConnections {
  send(request: SentRequest): Promise<Reply>
  close(): void
}

const ANSWER_MILLISECONDS_MAX = 30_000

/**
 * Connections that are used again and again. Not `fetch`, which sends no odd method, path or
 * header. A connection that the service closed while it was idle is no fault: then the request,
 * of which nobody has read a byte, goes out once more on a new one.
 */
export function keptConnections(origin: string, connectionsMax: number): KeptConnections {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax })
  const { hostname: host, port } = new URL(origin)

  const exchange = (sent: SentRequest, isFresh: boolean): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const { method, target, body } = sent
      const outgoing = httpRequest({
        ...{ host, port, method, path: target, headers: sendable(sent) },
        agent: isFresh ? false : agent,
        timeout: ANSWER_MILLISECONDS_MAX,
      })
      outgoing.on('timeout', () => outgoing.destroy(new Error('no answer came in time')))
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
 * Header values as UTF-8 bytes, one character each, without what a line cannot carry. A body always
 * has its length: Node leaves it out of a GET that expects something, and the connection is lost.
 */
function sendable({ headers, body }: SentRequest): Record<string, string | string[]> {
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

/** Undefined for what is no JSON, which the checks then say. */
function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return undefined
  }
}
