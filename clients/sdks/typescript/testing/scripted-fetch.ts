import assert from 'node:assert/strict'
import type { FakeClock } from './fake-clock.ts'

// biome-ignore lint/suspicious/noExplicitAny: behavior.schema.json describes the answers
type Json = any

/** A request that was made, with the members of the table. */
export interface RecordedRequest {
  at_ms: number
  method: string
  origin: string
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body?: unknown
  /** Of its event, or of the events of a batch. */
  event_ids?: string[]
  event_count?: number
}

const BASE_PATH = '/api/v1'

/** A fetch that gives the answers of a case on its clock, and records the requests. */
export class ScriptedFetch {
  readonly requests: RecordedRequest[] = []
  readonly #clock: FakeClock
  readonly #answers: Json[]
  readonly #byEvent: Map<string, Json[]>

  constructor(clock: FakeClock, one: Json) {
    this.#clock = clock
    this.#answers = [...(one.answers ?? [])]
    this.#byEvent = new Map(
      Object.entries<Json[]>(one.answers_by_event ?? {}).map(([id, answers]) => [id, [...answers]]),
    )
  }

  readonly fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const request = this.#record(String(input), init)
    const [id = ''] = request.event_ids ?? []
    const answers = this.#byEvent.get(id) ?? this.#answers
    const answer = answers.shift()
    assert.ok(answer, `${request.method} ${request.path} has no answer`)
    await this.#wait(answer.after_ms, init.signal)
    if (answer.connect_error) {
      const cause = new Error(answer.detail ?? 'connect ECONNREFUSED')
      throw new TypeError('fetch failed', { cause: Object.assign(cause, { code: 'ECONNREFUSED' }) })
    }
    if (answer.accepts) answer.body = acceptEvents(request.event_ids ?? [])
    const body = this.#stream(answer, init.signal)
    return new Response(body, { status: answer.status, headers: answer.headers ?? {} })
  }

  #record(address: string, { method = 'GET', headers, body, redirect }: RequestInit) {
    assert.equal(redirect, 'manual')
    const url = new URL(address)
    assert.ok(url.pathname.startsWith(BASE_PATH), address)
    const request: RecordedRequest = {
      at_ms: this.#clock.now,
      method,
      origin: url.origin,
      path: url.pathname.slice(BASE_PATH.length),
      query: Object.fromEntries(url.searchParams),
      headers: Object.fromEntries(new Headers(headers)),
    }
    if (body !== undefined && body !== null) request.body = JSON.parse(String(body))
    const { events, event_id: id } = (request.body ?? {}) as Json
    if (id) request.event_ids = [id]
    if (events) request.event_ids = events.map((event: Json) => event.event_id)
    if (events) request.event_count = events.length
    this.requests.push(request)
    return request
  }

  #stream(answer: Json, signal: AbortSignal | null | undefined): ReadableStream<Uint8Array> {
    const text = answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body))
    const bytes = answer.text_bytes
      ? new Uint8Array(answer.text_bytes).fill(32)
      : new TextEncoder().encode(text)
    return new ReadableStream({
      start: async controller => {
        try {
          await this.#wait(answer.body_after_ms, signal)
          controller.enqueue(bytes)
          if (answer.body_error) throw new TypeError('terminated')
          controller.close()
        } catch (error) {
          controller.error(error)
        }
      },
    })
  }

  /** As fetch does, ends when the signal aborts. */
  async #wait(milliseconds: number | undefined, signal: AbortSignal | null | undefined) {
    signal?.throwIfAborted()
    if (milliseconds === undefined) return
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, milliseconds)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    })
  }
}

function acceptEvents(ids: readonly string[]) {
  return { results: ids.map(event_id => ({ status: 202, event_id, duplicate: false })) }
}
