import { connect, type Socket } from 'node:net'
import type { RequestTemplate } from './request-template.ts'

export interface LoadConnectionOptions {
  port: number
  host: string
  template: RequestTemplate
  /** The count of the next purchase, or null when the run is over. */
  nextCount: () => number | null
  /** When a purchase is to be sent, if not at once, on the clock of `performance`. */
  dueAt?: (count: number) => number
  onAnswer: (status: string, milliseconds: number) => void
}

const STATUS_AT = 'HTTP/1.1 '.length
const HEADER_END = Buffer.from('\r\n\r\n')
const LENGTH_HEADER = Buffer.from('content-length: ')
const LENGTH_DIGITS_MAX = 10

/**
 * One keep-alive connection with one request in flight. It knows just enough HTTP for our own
 * answers, which name their length; node's client takes more CPU than the service leaves over. What
 * is sent later than it was due has taken that much longer: who waited would say so too.
 * Resolves when the run is over, rejects when the connection breaks or the answer is not HTTP.
 */
export function runLoadConnection(options: LoadConnectionOptions): Promise<void> {
  const { port, host, template, nextCount, dueAt, onAnswer } = options
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true })
    let sentAt = 0
    let received: Buffer | null = null

    const sendNext = () => {
      const count = nextCount()
      if (count === null) {
        socket.end()
        resolve()
        return
      }
      const at = dueAt?.(count) ?? performance.now()
      const wait = at - performance.now()
      if (wait > 0) setTimeout(send, wait, count, at)
      else send(count, at)
    }
    const send = (count: number, at: number) => {
      template.renew(count)
      sentAt = at
      socket.write(template.bytes)
    }
    socket.on('connect', sendNext)
    socket.on('data', chunk => {
      const bytes: Buffer = received ? Buffer.concat([received, chunk]) : chunk
      const length = answerLength(bytes)
      if (length === null) {
        socket.destroy(new Error('an answer came without its length'))
        return
      }
      received = bytes.length < length ? bytes : null
      if (received) return
      onAnswer(bytes.toString('latin1', STATUS_AT, STATUS_AT + 3), performance.now() - sentAt)
      sendNext()
    })
    rejectWhenBroken(socket, reject)
  })
}

/** The whole length of an answer: endless until its headers are there, null if they hide it. */
function answerLength(bytes: Buffer): number | null {
  const headerEnd = bytes.indexOf(HEADER_END)
  if (headerEnd < 0) return Number.POSITIVE_INFINITY
  const at = bytes.indexOf(LENGTH_HEADER)
  if (at < 0 || at > headerEnd) return null
  const digits = at + LENGTH_HEADER.length
  const length = Number.parseInt(bytes.toString('latin1', digits, digits + LENGTH_DIGITS_MAX), 10)
  return headerEnd + HEADER_END.length + length
}

function rejectWhenBroken(socket: Socket, reject: (error: Error) => void): void {
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('the connection was closed during the run')))
}
