import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { FieldErrors } from './field-check.ts'

/** A response before it is written to a connection. */
export interface HttpResponse {
  status: number
  headers: Record<string, string>
  body: string
}

export function jsonResponse(status: number, body: unknown): HttpResponse {
  return jsonTextResponse(status, JSON.stringify(body))
}

/** For a body that is already JSON text, so that its numbers keep their digits. */
export function jsonTextResponse(status: number, body: string): HttpResponse {
  return { status, headers: { 'content-type': 'application/json; charset=UTF-8' }, body }
}

/** The same response with these headers, which override its own. */
export function withHeaders(
  httpResponse: HttpResponse,
  added: Record<string, string> = {},
): HttpResponse {
  const headers = { ...httpResponse.headers }
  for (const [name, value] of Object.entries(added)) headers[name.toLowerCase()] = value
  return { ...httpResponse, headers }
}

/** Statuses without a body: a content-length would confuse clients. */
const BODILESS_STATUSES = [204, 205, 304]

/**
 * Writes a response. With `truncateBytes`, the content-length is that of the whole body, but only
 * the first bytes are sent before the connection is closed.
 */
export function writeResponse(
  stream: ServerResponse,
  { status, headers, body: text }: HttpResponse,
  truncateBytes: number | undefined,
): void {
  if (BODILESS_STATUSES.includes(status)) {
    stream.writeHead(status, headers).end()
    return
  }
  const body = Buffer.from(text)
  stream.writeHead(status, { ...headers, 'content-length': body.length })
  if (truncateBytes === undefined || truncateBytes >= body.length) {
    stream.end(body)
    return
  }
  stream.flushHeaders()
  if (truncateBytes > 0) stream.write(body.subarray(0, truncateBytes))
  stream.socket?.destroySoon()
}

/** One request and the stream of its response. */
export interface HttpExchange {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: URLSearchParams
  /** Aborts delays when the simulator stops. */
  stopping: AbortSignal
}

/** What a fault rule does to a response on its way out. */
interface TransportFault {
  delay_ms?: number
  abort?: string
  truncate?: number
}

/** Writes a response as the fault rule that fired says: late, in part, or not at all. */
export async function sendReply(
  { response: stream, stopping }: HttpExchange,
  response: HttpResponse,
  fault: TransportFault | undefined,
): Promise<void> {
  if (fault?.delay_ms !== undefined) {
    try {
      await wait(fault.delay_ms, undefined, { signal: stopping })
    } catch {
      // The simulator is stopping and closes the connection.
      return
    }
  }
  if (fault?.abort) return void stream.destroy()
  writeResponse(stream, response, fault?.truncate)
}

/** A body of this many times the limit closes the connection without a response. */
const OVERRUN_FACTOR = 4

/**
 * The whole body of a request. A body over the limit is read to its end but not kept, so that the
 * client can read the response. 'gone' means that the client disconnected or was disconnected.
 */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | 'too_large' | 'gone'> {
  let chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes <= bytesMax) chunks.push(chunk)
      else chunks = []
      if (bytes > bytesMax * OVERRUN_FACTOR) return 'gone'
    }
  } catch {
    return 'gone'
  }
  return bytes > bytesMax ? 'too_large' : Buffer.concat(chunks, bytes)
}

/** 422 with the errors of each field under its dotted path. */
export function invalidBodyResponse(errors: FieldErrors): HttpResponse {
  return jsonResponse(422, { message: 'The given body is not valid.', errors })
}

export function messageResponse(status: number, message: string): HttpResponse {
  return jsonResponse(status, { message })
}
