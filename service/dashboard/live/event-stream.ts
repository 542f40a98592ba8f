import type { Writable } from 'node:stream'
import type { LiveMessage } from '@signalbox/contract/session/live.ts'

/** A reader that is this far behind is disconnected; it resumes with its last event ID. */
const BUFFERED_BYTES_MAX = 2 ** 20
const RETRY_MILLISECONDS = 2_000

/** The headers of a stream. Proxies pass on each message, and nothing keeps it. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  // The connection has no use after the stream, and would hold up a shutdown.
  connection: 'close',
} as const

/** One response of server-sent events (HTML standard, section 9.2). */
export class EventStream {
  readonly #response: Writable
  readonly #writeHead: () => void
  #isOpen = false
  #isEnded: boolean

  /** `writeHead` is called with the first message, so that a failure before it has a status. */
  constructor(response: Writable, writeHead: () => void) {
    this.#response = response
    this.#writeHead = writeHead
    this.#isEnded = response.destroyed
    response.on('close', () => {
      this.#isEnded = true
    })
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  send(message: LiveMessage, id: string): void {
    if (!this.#isOpen && !this.#isEnded) {
      this.#isOpen = true
      this.#writeHead()
      this.#write(`retry: ${RETRY_MILLISECONDS}\n\n`)
    }
    this.#write(`id: ${id}\ndata: ${JSON.stringify(message)}\n\n`)
  }

  /** A comment, so that proxies do not end a quiet stream. The ID without data moves it on. */
  sendHeartbeat(id: string): void {
    if (this.#isOpen) this.#write(`: heartbeat\nid: ${id}\n\n`)
  }

  /**
   * A reader that is behind is disconnected, because it may never read the rest: it would keep its
   * place after its session ended. It can resume with its last event ID.
   */
  end(): void {
    const isSending = this.#isOpen && !this.#isEnded
    this.#isEnded = true
    if (!isSending) return
    if (this.#response.writableLength > 0) this.#response.destroy()
    else this.#response.end()
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener)
  }

  #write(text: string): void {
    if (this.#isEnded) return
    this.#response.write(text)
    if (this.#response.writableLength > BUFFERED_BYTES_MAX) this.#response.destroy()
  }
}
