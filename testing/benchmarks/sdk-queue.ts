import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type EventSubmission, Signalbox } from '../../clients/sdks/typescript/src/sdk.ts'
import { buildPurchaseBody, createPurchaseMarks } from './purchase-request.ts'

/**
 * The CPU time that a program spends in the queue of the TypeScript SDK, an event: 1.2 KB purchases
 * to a server of another process that stores nothing. `node testing/benchmarks/sdk-queue.ts`
 */
const EVENTS = 20_000
const WARM_UP = 2_000
const ROUNDS = 3

async function measureQueues(): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), ['server'])
  const [{ port }] = await once(server, 'message')
  const client = new Signalbox({ token: 'bench', baseUrl: `http://127.0.0.1:${port}` })
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const batchSize of [1, 20, 100, 200]) {
      await sendEvents(client, { batchSize, events: WARM_UP })
      const milliseconds = await sendEvents(client, { batchSize, events: EVENTS })
      console.log(`${batchSize} events a request: ${milliseconds.toFixed(3)} ms of CPU an event`)
    }
  }
  server.disconnect()
}

async function sendEvents(
  client: Signalbox,
  { batchSize, events }: { batchSize: number; events: number },
): Promise<number> {
  const submissions = Array.from({ length: events }, (_, at) => createPurchase(at))
  const queue = client.queue({ batchSize })
  const before = process.cpuUsage()
  for (const submission of submissions) {
    if (queue.size >= 1_000) await queue.flush()
    queue.add(submission)
  }
  const { left } = await queue.close()
  const { user, system } = process.cpuUsage(before)
  if (left.length > 0) throw new Error('The queue left events.')
  return (user + system) / 1_000 / events
}

function createPurchase(count: number): EventSubmission {
  const marks = createPurchaseMarks(count, 'queue')
  const capturedAt = new Date(Date.now() - 60_000)
  const body = buildPurchaseBody({ ...marks, run: 'queue' }, { variant: 0, capturedAt })
  return body as unknown as EventSubmission
}

/** Answers as the service does when it stores an event. */
function serve(): void {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const accept = ({ event_id }: { event_id: string }) => {
      return { status: 202, event_id, duplicate: false, warnings: [], notices: [] }
    }
    const { status, ...single } = accept(body)
    response.writeHead(body.events ? 200 : status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body.events ? { results: body.events.map(accept) } : single))
  })
  server.listen(0, '127.0.0.1', () => {
    process.send?.({ port: (server.address() as AddressInfo).port })
  })
  process.once('disconnect', () => process.exit(0))
}

if (process.argv[2] === 'server') serve()
else await measureQueues()
