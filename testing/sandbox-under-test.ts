import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { guardRoutes } from '../service/access/guard-routes.ts'
import { createLogger } from '../service/http/logger.ts'
import { createServiceApp } from '../service/http/service-app.ts'
import { createOfflinePlatforms } from '../service/platforms/registry.ts'
import { sandboxRoutes } from '../service/sandbox/routes.ts'
import { noteAnswer } from './reached-answers.ts'
import type { Reply } from './service-under-test.ts'
import { TestClock } from './test-clock.ts'

export const SANDBOX_KEY_SECRET = Buffer.alloc(32, 7)
export const SANDBOX_PUBLIC_ORIGIN = 'https://signalbox.example'

/** The sandbox alone, listening, without any store, on a clock that stands still. */
export interface SandboxUnderTest {
  clock: TestClock
  logged(): string
  request(method: string, path: string, options?: SandboxRequest): Promise<Reply>
  newKey(): Promise<string>
  /** POST /sandbox/keyed-events with a key of this sandbox. */
  validate(body: unknown, headers?: Record<string, string>): Promise<Reply>
}

export interface SandboxRequest {
  key?: string
  body?: unknown
  rawBody?: string
  headers?: Record<string, string>
}

export interface SandboxOptions {
  now?: () => Date
  sandboxKeySecret?: Buffer
}

export async function sandboxUnderTest(
  test: TestContext,
  { now, sandboxKeySecret = SANDBOX_KEY_SECRET }: SandboxOptions = {},
): Promise<SandboxUnderTest> {
  const clock = new TestClock()
  const lines: string[] = []
  const app = createServiceApp(createLogger('debug', { write: line => void lines.push(line) }))
  guardRoutes(app, () => Promise.reject(new Error('the sandbox asks for no tracker')))
  app.register(
    async api =>
      sandboxRoutes(api, {
        platforms: createOfflinePlatforms(),
        sandboxKeySecret,
        now: now ?? clock.now,
        publicOrigin: () => SANDBOX_PUBLIC_ORIGIN,
      }),
    { prefix: '/api/v1' },
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  test.after(() => app.close())
  const { port } = app.server.address() as AddressInfo

  const request = (method: string, path: string, options: SandboxRequest = {}) =>
    sent(`http://127.0.0.1:${port}/api/v1${path}`, method, options)
  const newKey = async () => (await request('GET', '/sandbox/keys')).body.api_key
  const key = await newKey()
  return {
    clock,
    logged: () => lines.join(''),
    request,
    newKey,
    validate: (body, headers = {}) =>
      request('POST', '/sandbox/keyed-events', { key, body, headers }),
  }
}

async function sent(url: string, method: string, options: SandboxRequest): Promise<Reply> {
  const { key, body, rawBody, headers = {} } = options
  const text = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  })
  const answer = await response.text()
  noteAnswer({ method, path: new URL(url).pathname, status: response.status })
  return {
    status: response.status,
    headers: response.headers,
    text: answer,
    body: answer === '' ? null : JSON.parse(answer),
  }
}
