// Full run only: starts whole programs with workers.
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { CRASHING_THREAD_ENVIRONMENT } from '../../../testing/crash/crashing-thread.ts'
import { connectToThreads, ThreadConnection } from '../../../testing/crash/thread-connection.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { createInstallation, type TestProgram } from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import type { Database } from '../../runtime/db/database.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { type ProvisionedTracker, provisionTracker } from '../provisioning/provision-tracker.ts'

const KEY = '07'.repeat(32)
const REQUESTS = 300

/** Each part leaves the program as the next one needs it, since a start costs 3 CPU seconds. */
it('a program with two HTTP workers', async test => {
  const limits = { SIGNALBOX_FAILED_AUTH_RATE_PER_MINUTE: '5' }
  const workers = await serveInWorkers(test, { LOG_LEVEL: 'debug', ...limits })
  const part = (title: string, run: () => Promise<void>) => test.test(title, run)

  await part('one metrics page covers all workers', () => countOnOnePage(workers))
  await part('every worker answers requests, and its log lines show its ID', () =>
    answerFromBoth(workers),
  )
  await part('refuses a port that the workers of another program share', async () => {
    const { port } = new URL(workers.origin)
    const second = createInstallation(test).start({
      role: 'serve',
      environment: { ...workers.environment, PORT: port },
    })
    assert.deepEqual(await second.exited, { code: 1, signal: null })
    assert.match(second.stderr(), new RegExp(`^Port ${port} on 127.0.0.1 is taken by another`))
  })
  await part('a change of test mode takes immediate effect at all workers', () =>
    changeTestMode(workers),
  )
  await part('a worker that crashes is restarted while the other answers', () =>
    crashOneWorker(workers, 'crash'),
  )
  await part('a worker that exceeds its heap limit is restarted while the other answers', () =>
    crashOneWorker(workers, 'exhaust'),
  )
  await part('a valid secret is accepted by every worker while another caller guesses', () =>
    guessSecrets(workers),
  )
  await part('exits with 0 after its workers were restarted', async () => {
    assert.deepEqual(await workers.program.kill('SIGTERM'), { code: 0, signal: null })
  })
})

it('all workers share one rate limit, exact within 5 %', async test => {
  const limits = {
    SIGNALBOX_SANDBOX_RATE_PER_MINUTE: '100',
    SIGNALBOX_FAILED_AUTH_RATE_PER_MINUTE: '60',
  }
  const { origin } = await serveInWorkers(test, limits)
  const connections = await connectToThreads(origin, 2)
  const countUntilRefused = async (path: string, status: number) => {
    const startedAt = performance.now()
    const answers = await Promise.all(
      connections.map(async connection => {
        const statuses: number[] = []
        for (let sent = 0; sent < REQUESTS; sent += 1) {
          statuses.push((await connection.send(path)).status)
        }
        return statuses
      }),
    )
    for (const statuses of answers) {
      assert.ok(statuses.includes(status), `a worker let nothing in at ${path}`)
      assert.equal(statuses.at(-1), 429)
    }
    const minutes = (performance.now() - startedAt) / 60_000
    return { count: answers.flat().filter(one => one === status).length, minutes }
  }
  const sandbox = await countUntilRefused('/api/v1/sandbox', 200)
  assertNear(sandbox.count, 100 * (1 + sandbox.minutes))
  const failed = await countUntilRefused('/api/v1/events/x', 401)
  assertNear(failed.count, 60 * (1 + failed.minutes))
})

async function countOnOnePage({ origin, metrics, tracker }: WorkersUnderTest): Promise<void> {
  const connections = await connectToThreads(origin, 2)
  for (let count = 0; count < 20; count += 1) {
    const connection = connections[count % 2] as ThreadConnection
    const event = jsonRequest(tracker, purchase(`event-${count}`))
    assert.equal(
      (await connection.send('/api/v1/events', { method: 'POST', ...event })).status,
      202,
    )
  }
  const text = await (await fetch(metrics)).text()
  const created = '{operation="createEvent",method="POST",status="202"}'
  for (const line of [
    'signalbox_events_total{result="accepted"} 20',
    'signalbox_commit_events_sum 20',
    `signalbox_http_request_duration_seconds_count${created} 20`,
    'signalbox_commit_queue_events_max 10000',
    'signalbox_store_up 1',
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line)
  }
  assert.equal(text.match(/^process_resident_memory_bytes /gm)?.length, 1)
}

async function answerFromBoth({ program, origin }: WorkersUnderTest): Promise<void> {
  const linesBefore = program.stdout().trim().split('\n').length
  const connections = await connectToThreads(origin, 2)
  for (const connection of connections) {
    assert.equal((await connection.send('/readyz')).body, '{"status":"ok","failed":[]}')
  }
  const asked = program
    .stdout()
    .trim()
    .split('\n')
    .slice(linesBefore)
    .map(line => JSON.parse(line) as { worker?: number; request_id?: string })
    .filter(({ request_id }) => request_id !== undefined)
  assert.deepEqual([...new Set(asked.map(({ worker }) => worker))].sort(), [1, 2])
}

async function changeTestMode({ origin, tracker, database }: WorkersUnderTest): Promise<void> {
  const [first, second] = await connectToBoth(origin)
  const rows = await database.pool.query('select id from destinations')
  const switchTo = (enabled: boolean) =>
    first.send(`/api/v1/destinations/${rows.rows[0].id}/test-mode`, {
      method: 'PATCH',
      ...jsonRequest(tracker, { enabled }),
    })
  for (let round = 0; round < 10; round += 1) {
    const isOn = round % 2 === 0
    assert.equal((await switchTo(isOn)).status, 200)
    const event_id = `mode-${round}`
    const event = jsonRequest(tracker, purchase(event_id))
    assert.equal((await second.send('/api/v1/events', { method: 'POST', ...event })).status, 202)
    const stored = 'select is_test from all_deliveries where event_id = $1'
    assert.deepEqual((await database.pool.query(stored, [event_id])).rows, [{ is_test: isOn }])
  }
}

async function guessSecrets({ origin, tracker }: WorkersUnderTest): Promise<void> {
  const [first, second] = await connectToBoth(origin)
  const headers = { authorization: `Bearer ${tracker.trackerSecret}` }
  const read = (connection: ThreadConnection) => connection.send('/api/v1/events/x', { headers })
  assert.equal((await first.send('/api/v1/events/x')).status, 401)
  assert.equal((await read(first)).status, 404)
  for (let guess = 0; guess < 10; guess += 1) await first.send('/api/v1/events/x')
  assert.equal((await second.send('/api/v1/events/x')).status, 429)
  assert.equal((await read(second)).status, 404)
}

async function crashOneWorker(
  { program, origin, metrics, tracker }: WorkersUnderTest,
  failure: string,
): Promise<void> {
  const acceptedBefore = await accepted(metrics)
  const endedLines = () => program.stdout().match(/^.*an HTTP worker ended; it is restarted.*$/gm)
  const endedBefore = endedLines()?.length ?? 0
  const [crashing, other] = await connectToBoth(origin)
  const submit = (connection: ThreadConnection, event_id: string) =>
    connection.send('/api/v1/events', {
      method: 'POST',
      ...jsonRequest(tracker, purchase(`${failure}-${event_id}`)),
    })
  for (const [index, connection] of [crashing, other, crashing].entries()) {
    assert.equal((await submit(connection, `before-${index}`)).status, 202)
  }
  assert.equal(await accepted(metrics), acceptedBefore + 3)

  const { thread: crashedThread } = await crashing.send('/livez')
  const { thread: otherThread } = await other.send('/livez')
  const ended = crashing.send('/livez', { headers: { 'x-test-failure': failure } })
  // The response may still arrive before the thread ends.
  await ended.catch(() => {})
  await waitUntil('the end is logged', async () => {
    assert.equal((await other.send('/readyz')).thread, otherThread)
    return endedLines()?.length === endedBefore + 1
  })
  assert.equal((await submit(other, 'after')).status, 202)
  await waitUntil('another thread replaces it', async () => {
    const connection = new ThreadConnection(origin)
    const response = await connection.send('/readyz').catch(() => null)
    connection.close()
    return (
      response !== null &&
      response.status === 200 &&
      ![crashedThread, otherThread].includes(response.thread)
    )
  })
  assert.equal(await accepted(metrics), acceptedBefore + 4)
  assert.ok([1, 2].includes(JSON.parse(endedLines()?.at(-1) ?? '{}').worker))
}

async function connectToBoth(origin: string): Promise<[ThreadConnection, ThreadConnection]> {
  return (await connectToThreads(origin, 2)) as [ThreadConnection, ThreadConnection]
}

interface WorkersUnderTest {
  program: TestProgram
  origin: string
  metrics: string
  tracker: ProvisionedTracker
  database: Database
  environment: Record<string, string>
}

/** `serve` with two HTTP workers on a store with one tracker. */
async function serveInWorkers(
  test: TestContext,
  changes: Record<string, string> = {},
): Promise<WorkersUnderTest> {
  const { database, connectionString } = await createTestDatabase(test)
  const credentialKeys = { current: Buffer.from(KEY, 'hex'), previous: [] }
  const request = {
    workspaceName: 'Test',
    at: new Date(),
    credentialKeys,
    logger: createLogger('silent'),
  }
  const tracker = await provisionTracker(database, request)
  const environment = {
    ...CRASHING_THREAD_ENVIRONMENT,
    DATABASE_URL: connectionString,
    SIGNALBOX_CREDENTIAL_KEY: KEY,
    SIGNALBOX_HTTP_WORKERS: '2',
    ...changes,
  }
  const program = createInstallation(test).start({ role: 'serve', environment })
  const [, metrics = ''] = await program.waitForOutput(/^Its metrics are at (\S+)$/m)
  const [, origin = ''] = await program.waitForOutput(/^Signalbox serves at (\S+)$/m)
  return { program, origin, metrics, tracker, database, environment }
}

function purchase(event_id: string) {
  return samplePurchase({ event_id, consent: { ad_user_data: 'granted' } })
}

function jsonRequest({ trackerSecret }: ProvisionedTracker, value: unknown) {
  const body = JSON.stringify(value)
  return {
    headers: {
      authorization: `Bearer ${trackerSecret}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    },
    body,
  }
}

async function accepted(metrics: string): Promise<number> {
  const text = await (await fetch(metrics)).text()
  return Number(/^signalbox_events_total\{result="accepted"\} (\d+)$/m.exec(text)?.[1])
}

function assertNear(count: number, expected: number): void {
  assert.ok(Math.abs(count - expected) <= 0.05 * expected, `${count} instead of ${expected}`)
}
