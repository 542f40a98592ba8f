import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** Replaces the service: it records every POST and returns the responses that the test sets. */
export interface RecordingEndpoint {
  /** Without a path; events go to `{url}/events`. */
  url: string
  requests: RecordedRequest[]
  /** Sets the next responses, in this order; then it returns 202 again. */
  answerNext(...answers: Answer[]): void
  /** Waits for this number of requests and returns them. */
  received(count: number): Promise<RecordedRequest[]>
  /** Also serves a page or a script. */
  serve(path: string, file: ServedFile): void
}

interface RecordedRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  bytes: Buffer
  /** The body as JSON, of any shape. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of any event
  event: any
}

interface Answer {
  status: number
  headers?: Record<string, string>
  body?: string
  /** Keeps the request open without a response. */
  isSilent?: boolean
}

interface ServedFile {
  body: string
  headers: Record<string, string>
}

const WAIT_SECONDS_MAX = 10
/** The service's CORS headers: any origin, without credentials. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, content-type',
  'access-control-expose-headers': 'Retry-After',
}

export async function recordingEndpoint(test: TestContext): Promise<RecordingEndpoint> {
  const requests: RecordedRequest[] = []
  const answers: Answer[] = []
  const files = new Map<string, ServedFile>()
  const arrivals = new EventTarget()
  const server = createServer(async (request, response) => {
    const { method, url = '' } = request
    const file = files.get(url.split('?')[0] ?? '')
    if (method === 'OPTIONS') return response.writeHead(204, CORS).end()
    if (method === 'HEAD') return response.writeHead(204).end()
    if (method === 'GET') return response.writeHead(file ? 200 : 404, file?.headers).end(file?.body)
    const recorded = await recordedRequest(request)
    requests.push(recorded)
    const answer = answers.shift() ?? accepted(recorded)
    arrivals.dispatchEvent(new Event('arrival'))
    if (answer.isSilent) return
    const headers = { ...CORS, 'content-type': 'application/json', ...answer.headers }
    return response.writeHead(answer.status, headers).end(answer.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answerNext: (...next) => void answers.push(...next),
    async received(count) {
      const signal = AbortSignal.timeout(WAIT_SECONDS_MAX * 1_000)
      while (requests.length < count) {
        await once(arrivals, 'arrival', { signal }).catch(() =>
          assert.fail(`Only ${requests.length} of ${count} requests arrived.`),
        )
      }
      return requests
    },
    serve: (path, file) => void files.set(path, file),
  }
}

async function recordedRequest(request: IncomingMessage): Promise<RecordedRequest> {
  const bytes = Buffer.concat(await request.toArray())
  const { method = '', url = '', headers } = request
  return { method, url, headers, bytes, event: parsed(bytes.toString()) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The response of createEvent to a new event, or that of createEvents to new events. */
function accepted({ event, url }: RecordedRequest): Answer {
  if (url.includes('/events/batch')) {
    const results = (event?.events ?? []).map(() => ({ status: 202, duplicate: false }))
    return { status: 200, body: JSON.stringify({ results }) }
  }
  const event_id = event?.event_id ?? 'none'
  const location = `https://signalbox.example/api/v1/events/${event_id}`
  return {
    status: 202,
    headers: { location, 'idempotency-key': event_id, 'request-id': 'req_1' },
    body: JSON.stringify({ event_id, duplicate: false, warnings: [], notices: [] }),
  }
}

/**
 * The forwarding signature as the service computes it: HMAC-SHA256 over time, address, user agent,
 * Global Privacy Control when it is on, and the exact body. Its key is the SHA-256 of the secret.
 */
export function forwardingSignature(secret: string, text: string, body: Uint8Array): string {
  const key = createHash('sha256').update(secret).digest()
  return createHmac('sha256', key).update(text).update(body).digest('hex')
}

/** Fails unless the signature matches the request. */
export function assertSigned({ headers, bytes }: RecordedRequest, secret: string): void {
  const at = headers['x-signalbox-forwarded-at']
  const ip = headers['x-signalbox-client-ip'] ?? ''
  const agent = headers['x-signalbox-client-user-agent'] ?? ''
  assert.match(String(at), /^\d{10}$/)
  const gpc = headers['sec-gpc'] === '1' ? 'Sec-GPC: 1\n' : ''
  const expected = forwardingSignature(secret, `${at}\n${ip}\n${agent}\n${gpc}`, bytes)
  assert.equal(headers['x-signalbox-forwarding-signature'], expected)
}
