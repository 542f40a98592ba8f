import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FieldErrors } from './field-check.ts'

/** An answer before it is written to a connection. */
export interface HttpResponse {
  status: number
  headers: Record<string, string>
  body: string
}

export function jsonResponse(status: number, body: unknown): HttpResponse {
  return jsonTextResponse(status, JSON.stringify(body))
}

/** For a body that is JSON text already, so that its numbers keep their digits. */
export function jsonTextResponse(status: number, body: string): HttpResponse {
  return { status, headers: { 'content-type': 'application/json; charset=UTF-8' }, body }
}

/** Statuses that never have a body; announcing a length for them confuses clients. */
const BODILESS_STATUSES = [204, 205, 304]

/**
 * Writes an answer. With `truncateBytes` the whole length is announced, only so many bytes of the
 * body are sent, and then the connection is closed.
 */
export function writeResponse(
  response: ServerResponse,
  answer: HttpResponse,
  truncateBytes: number | undefined,
): void {
  if (BODILESS_STATUSES.includes(answer.status)) {
    response.writeHead(answer.status, answer.headers).end()
    return
  }
  const body = Buffer.from(answer.body)
  response.writeHead(answer.status, { ...answer.headers, 'content-length': body.length })
  if (truncateBytes === undefined || truncateBytes >= body.length) {
    response.end(body)
    return
  }
  response.flushHeaders()
  if (truncateBytes > 0) response.write(body.subarray(0, truncateBytes))
  response.socket?.destroySoon()
}

/** A sender that goes on this far beyond the limit is cut off instead of being answered. */
const OVERRUN_FACTOR = 4

/**
 * The whole body of a request. A body over the limit is read to its end but not kept, so that the
 * sender gets to see the answer; 'gone' means that the sender has left or was cut off.
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

/** 422, with what is wrong under each field's dotted path. */
export function invalidBodyResponse(errors: FieldErrors): HttpResponse {
  return jsonResponse(422, { message: 'The given body is not valid.', errors })
}

export function messageResponse(status: number, message: string): HttpResponse {
  return jsonResponse(status, { message })
}
