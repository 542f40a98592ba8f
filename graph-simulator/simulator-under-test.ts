import type { TestContext } from 'node:test'
import { SAMPLE_NOW } from './sample-event.ts'
import { startSimulator } from './simulator-server.ts'

/** A simulator on a free port with a clock that only the test advances. */
export interface SimulatorUnderTest {
  url: string
  /** Sends events with a token, to dataset 1234 by default, and reads the response. */
  send(body: unknown, options?: SendOptions): Promise<Reply>
  /** GET /v26.0/{path} with a token. */
  read(path: string, query?: Record<string, string>): Promise<Reply>
  control(method: string, path: string, body?: unknown): Promise<Reply>
  advance(seconds: number): void
  close(): Promise<void>
}

export interface SendOptions {
  dataset?: string
  path?: string
  method?: string
  headers?: Record<string, string>
}

export interface Reply {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of any answer
  body: any
}

/** Starts a simulator and stops it when the test ends. */
export async function simulatorUnderTest(
  test: TestContext,
  options: { eventsMax?: number } = {},
): Promise<SimulatorUnderTest> {
  let at = SAMPLE_NOW.getTime()
  const now = () => new Date(at)
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, now, ...options })
  test.after(() => simulator.close())
  return {
    url: simulator.url,
    send: (body, sendOptions) => sendEvents(simulator.url, body, sendOptions),
    read: async (path, query) => {
      const url = `${simulator.url}/v26.0/${path}?${new URLSearchParams(query)}`
      return toReply(await fetch(url, { headers: { authorization: 'Bearer token-a' } }))
    },
    control: async (method, path, body) => {
      const init = body === undefined ? { method } : { method, body: textOf(body) }
      return toReply(await fetch(`${simulator.url}/_simulator/${path}`, init))
    },
    advance: seconds => {
      at += seconds * 1_000
    },
    close: simulator.close,
  }
}

async function sendEvents(
  url: string,
  body: unknown,
  {
    dataset = '1234',
    path = `/v26.0/${dataset}/events`,
    method = 'POST',
    headers,
  }: SendOptions = {},
): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: headers ?? { authorization: 'Bearer token-a', 'content-type': 'application/json' },
    ...(method !== 'GET' && { body: textOf(body) }),
  })
  return toReply(response)
}

async function toReply(response: Response): Promise<Reply> {
  const text = await response.text()
  // A truncated body is not JSON.
  const isJson = text.startsWith('{') && text.endsWith('}')
  const { status, headers } = response
  return { status, headers, text, body: isJson ? JSON.parse(text) : undefined }
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}
