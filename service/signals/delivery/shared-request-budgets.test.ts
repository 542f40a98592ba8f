import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createOperatorContext } from '../../../testing/fixtures/audit.ts'
import { deliverRound } from '../../../testing/fixtures/delivery-round.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  connectScripted,
  startScriptedPlatform,
} from '../../../testing/fixtures/scripted-platform.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { listenForNotifications } from '../../runtime/db/notification-listener.ts'
import type { Platform } from '../platforms/platform.ts'
import { CircuitBreakers } from './circuit-breaker.ts'
import { setCredential } from './credential-store.ts'
import { DELIVERY_CHANNEL } from './destination-queue-store.ts'
import { RequestBudgets } from './request-budget-store.ts'

/** A worker of another process: its own reservations and circuits. */
function startProcess(service: TestService) {
  const circuits = new CircuitBreakers()
  const context = { ...service.delivery, requestBudgets: new RequestBudgets(service.database) }
  return { circuits, round: () => deliverRound(context, { circuits }) }
}

type Process = ReturnType<typeof startProcess>

/** Both processes in turn, until neither can send. */
async function deliverWith(processes: readonly Process[]): Promise<void> {
  for (let isDone = false; !isDone; ) {
    const rounds = await Promise.all(processes.map(({ round }) => round()))
    isDone = rounds.every(({ claimedCount }) => claimedCount === 0)
  }
}

async function startSharing(test: TestContext, perMinute: number) {
  const scripted = await startScriptedPlatform(test)
  const budgetOf: Record<string, string> = { 'token-a': 'project-1', 'token-b': 'project-1' }
  const platform: Platform = {
    ...scripted.platform,
    requestBudget: ({ credential }) => {
      const token = credential.kind === 'bearer_token' ? credential.accessToken : ''
      return { key: budgetOf[token] ?? token, perMinute, perDay: 100_000 }
    },
  }
  // One event a request, as for a destination of many conversion actions.
  const service = await startTestService(test, { morePlatforms: [platform], batchMax: 1 })
  const countOf = (board: string) => scripted.requests.filter(one => one.board === board).length
  return { scripted, service, countOf }
}

/** Events of which only the destinations that are connected by then get a delivery. */
async function submitMany(service: TestService, prefix: string, count: number) {
  for (let from = 0; from < count; from += 200) {
    const events = Array.from({ length: Math.min(200, count - from) }, (_, index) =>
      samplePurchase({ event_id: `${prefix}-${from + index}` }),
    )
    const reply = await service.request('POST', '/api/v1/events/batch', { body: { events } })
    assert.equal(reply.status, 200, reply.text)
  }
}

it('lets two destinations of one project send its requests of a minute, and starves neither', async test => {
  const { scripted, service, countOf } = await startSharing(test, 60)
  await connectScripted(service, 'token-a', 'large')
  await submitMany(service, 'large', 150)
  await connectScripted(service, 'token-b', 'small')
  await connectScripted(service, 'token-c', 'own')
  await submitMany(service, 'small', 10)
  const processes = [startProcess(service), startProcess(service)]
  const shared = () => countOf('large') + countOf('small')
  const counts: number[] = []
  for (let minute = 0; minute < 3; minute += 1) {
    const before = shared()
    await deliverWith(processes)
    counts.push(shared() - before)
    service.clock.advance(60 - ((service.clock.now().getTime() / 1_000) % 60))
    if (minute > 0) continue
    assert.equal(countOf('small'), 10)
    // A project of its own is not touched.
    assert.equal(countOf('own'), 10)
    // A process is killed with what it has reserved: at most a tenth of the minute is lost.
    processes[1] = startProcess(service)
  }
  assert.ok(
    counts.slice(0, 2).every(count => count <= 60 && count >= 48),
    String(counts),
  )
  assert.equal(shared(), 170)
  const ids = scripted.requests.flatMap(({ board, eventIds }) => eventIds.map(id => board + id))
  assert.equal(new Set(ids).size, ids.length)
})

it('gives what comes late its share while another destination uses the whole minute', async test => {
  const { service, countOf } = await startSharing(test, 30)
  await connectScripted(service, 'token-a', 'large')
  await submitMany(service, 'large', 200)
  const processes = [startProcess(service), startProcess(service)]
  await deliverWith(processes)
  assert.ok(countOf('large') >= 24 && countOf('large') <= 30, String(countOf('large')))
  await connectScripted(service, 'token-b', 'small')
  await submitMany(service, 'small', 10)
  await deliverWith(processes)
  assert.equal(countOf('small'), 0, 'nothing is left of this minute')
  service.clock.advance(60)
  await deliverWith(processes)
  assert.equal(countOf('small'), 10)
})

it('moves to the limit of another project with a new key, at once in every process', async test => {
  const { service, countOf } = await startSharing(test, 5)
  const destinationId = await connectScripted(service, 'token-a', 'large')
  await submitMany(service, 'large', 9)
  const processes = [startProcess(service), startProcess(service)]
  await deliverWith(processes)
  const sent = countOf('large')
  assert.ok(sent <= 5)
  const notices: string[] = []
  const listener = await listenForNotifications({
    connectionString: service.connectionString,
    channel: DELIVERY_CHANNEL,
    onNotification: payload => void notices.push(payload),
    onLost: () => {},
  })
  test.after(() => listener.close())
  await setCredential(createOperatorContext(service), service.delivery.credentialKeys, {
    workspaceId: service.tracker.workspaceId,
    trackerId: service.tracker.trackerId,
    destinationId,
    accessToken: 'token-of-project-2',
    actor: { type: 'operator', id: null },
    config: {},
    at: service.clock.now(),
  })
  await waitUntil('the workers are told', async () => notices.includes(destinationId))
  for (const { circuits } of processes) circuits.forget(destinationId)
  await deliverWith(processes)
  assert.equal(countOf('large'), sent + Math.min(5, 9 - sent))
})

it('reserves nothing for a destination that is paused', async test => {
  const { service, countOf } = await startSharing(test, 30)
  const destinationId = await connectScripted(service, 'token-a', 'large')
  await submitMany(service, 'large', 100)
  await service.database.pool.query(
    `update destinations set status = 'inactive', paused_at = $2, next_probe_at = null
     where id = $1`,
    [destinationId, service.clock.now()],
  )
  await deliverWith([startProcess(service), startProcess(service)])
  assert.equal(countOf('large'), 0)
  const { rows } = await service.database.pool.query('select 1 from request_budgets')
  assert.equal(rows.length, 0)
})
