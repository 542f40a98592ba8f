import type { Socket } from 'node:net'
import type {
  RawReplyDefaultExpression as Answer,
  RawRequestDefaultExpression as Incoming,
} from 'fastify'
import { newRequestId } from './request-id.ts'
import type { BrokenRequest } from './request-log.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

/** Node's codes for bytes that never become a request, where there is more to say than "broken". */
const ANSWERS: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The request headers are too large.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Content Too Large', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
}

/** The latest answer on each connection, which may not have been given yet. */
const answers = new WeakMap<Socket, Answer>()

/** To be called for every request, so that broken bytes behind it do not take its answer. */
export function expectAnswer({ socket }: Incoming, answer: Answer): void {
  answers.set(socket, answer)
}

/**
 * Answers bytes that are no HTTP request, or not a whole one, and closes the connection. They never
 * reach a route, so the answer is written by hand, with the headers of every other answer. A whole
 * request that came before them on the same connection is answered first.
 */
export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  onRefused: (broken: BrokenRequest) => void = () => {},
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const earlier = answers.get(socket)
  const isOwed = earlier?.req.complete && !earlier.writableFinished
  const answer = () => onRefused(refuse(error.code, socket))
  if (isOwed) earlier.once('finish', answer)
  else answer()
}

function refuse(code: string | undefined, socket: Socket): BrokenRequest {
  const [status, message] = ANSWERS[code ?? ''] ?? ['400 Bad Request', 'Not a valid HTTP request.']
  const body = JSON.stringify({ message })
  const requestId = newRequestId()
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'request-id': requestId,
    ...(code === 'ERR_HTTP_REQUEST_TIMEOUT' ? {} : { 'x-should-retry': 'false' }),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`)
  return { requestId, status: Number.parseInt(status, 10) }
}
