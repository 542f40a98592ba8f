import type { ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'

/** Statuses that never have a body; announcing a length for them confuses clients. */
const BODILESS = [204, 205, 304]

/**
 * Writes an answer. With `truncateBytes` the whole length is announced, only so many bytes of the
 * body are sent, and then the connection is closed.
 */
export function writeAnswer(
  response: ServerResponse,
  answer: Answer,
  truncateBytes: number | undefined,
): void {
  if (BODILESS.includes(answer.status)) {
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
