import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { SendAnswer } from '../service/signals/platforms/platform.ts'

interface Fault {
  title: string
  /** `accepted` is what the platform answers to an event that it takes. */
  answer(response: ServerResponse, accepted: string): void
  /** Whether the plug-in settles it right. */
  expects(answer: SendAnswer): boolean
  /** The outcome at a platform that answers by the status alone; left out: the same. */
  byStatus?: SendAnswer['outcome']
}

const HTML = '<!doctype html><title>Bad gateway</title>'
const isUnknown = ({ outcome }: SendAnswer) => outcome === 'unknown'
const answers =
  (status: number, body: string, headers: Record<string, string> = {}): Fault['answer'] =>
  response =>
    void response.writeHead(status, headers).end(body)

/** What stands between a platform and its callers, and what happens on the way. */
export const FAULTS: readonly Fault[] = [
  {
    title: 'a page of a proxy with 429',
    answer: answers(429, HTML),
    expects: ({ outcome, waitSeconds }) => outcome === 'throttle' && waitSeconds > 0,
  },
  {
    title: '429 with Retry-After',
    answer: answers(429, HTML, { 'retry-after': '1234' }),
    expects: ({ outcome, waitSeconds }) => outcome === 'throttle' && waitSeconds === 1_234,
  },
  {
    title: 'a page of a proxy with 502',
    answer: answers(502, HTML),
    expects: isUnknown,
    byStatus: 'retry',
  },
  {
    title: '503 with Retry-After',
    answer: answers(503, HTML, { 'retry-after': '77' }),
    expects: ({ outcome, waitSeconds }) => outcome === 'unknown' && waitSeconds === 77,
    byStatus: 'retry',
  },
  {
    title: 'a page with 200',
    answer: answers(200, HTML),
    expects: isUnknown,
    byStatus: 'accepted',
  },
  { title: 'an empty body', answer: answers(200, ''), expects: isUnknown, byStatus: 'accepted' },
  {
    title: 'JSON of another kind',
    answer: answers(200, '[]'),
    expects: isUnknown,
    byStatus: 'accepted',
  },
  {
    title: 'a body of a megabyte',
    answer: answers(200, 'x'.repeat(1 << 20)),
    expects: isUnknown,
    byStatus: 'accepted',
  },
  {
    title: 'a truncated answer',
    answer: (response, accepted) => {
      response.writeHead(200, { 'content-length': Buffer.byteLength(accepted) + 9 })
      response.write(accepted.slice(0, 5), () => response.socket?.destroy())
    },
    expects: isUnknown,
    byStatus: 'accepted',
  },
  {
    title: 'JSON that ends too early',
    answer: (response, accepted) => void response.end(accepted.slice(0, -1)),
    expects: isUnknown,
    byStatus: 'accepted',
  },
  {
    title: 'a closed connection',
    answer: response => void response.socket?.destroy(),
    expects: isUnknown,
  },
  { title: 'no answer in time', answer: () => undefined, expects: isUnknown },
]

interface SeenRequest {
  url: string
  headers: object
  body: string
}

/** A server that answers what no simulator would, and shows what it received. */
export async function startServer(
  test: TestContext,
  respond: (response: ServerResponse, seen: SeenRequest) => void,
) {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks = (await Array.fromAsync(request)) as Buffer[]
    const body = Buffer.concat(chunks).toString('utf8')
    const received = { url: request.url ?? '', headers: request.headers, body }
    seen.push(received)
    respond(response, received)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  test.after(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, seen }
}
