import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startDatabaseProxy } from '../../../testing/crash/database-proxy.ts'
import { submitPurchases } from '../../../testing/fixtures/delivery-worker.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary } from '../../../testing/fixtures/simulator.ts'
import { openDatabase } from '../../runtime/db/database.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import { deliverDueBatch } from './deliver-batch.ts'
import type { DeliveryContext } from './delivery-context.ts'
import { retryWhileLeased } from './settle-batch.ts'

const EVENTS = 5

/** Events that wait, and a worker whose way to the store can break. */
async function workerBehindProxy(test: TestContext) {
  const service = await startTestService(test)
  await submitPurchases(service, service.tracker, EVENTS)
  const proxy = await startDatabaseProxy(test, service.connectionString)
  const database = openDatabase({
    connectionString: proxy.connectionString,
    connectionsMax: 3,
    applicationName: 'signalbox test',
    onIdleError: () => {},
  })
  test.after(() => database.close())
  const counted = { settled: 0, retries: 0 }
  /** Delivers one batch. `onAnswer` is done between the platform's answer and the settlement. */
  const deliver = async (onAnswer: () => void, changes: Partial<DeliveryContext> = {}) => {
    const platforms = service.delivery.platforms.map(platform => ({
      ...platform,
      send: async (...request) => {
        const answer = await platform.send(...request)
        onAnswer()
        return answer
      },
    }))
    const context: DeliveryContext = {
      ...service.delivery,
      database,
      platforms,
      onSettled: settlements => {
        counted.settled += settlements.length
      },
      onSettleRetry: () => {
        counted.retries += 1
      },
      ...changes,
    }
    const { trackerId, destinationId } = service.tracker
    return deliverDueBatch(
      context,
      { trackerId, destinationId, platform: 'meta', isProbe: false },
      () => {},
    )
  }
  return { service, proxy, counted, deliver }
}

/** All that the store counts of what was sent, and what the platform got. */
async function outcomeOf({ database, simulatorUrl }: TestService) {
  const { rows } = await database.pool.query(
    `select
       (select count(*) from all_deliveries where status = 'accepted' and attempt_count = 1
          and cardinality(attempt_ids) = 1 and leased_until is null) as settled,
       (select count(*) from send_attempts) as attempts,
       (select sum(accepted)::integer from delivery_counts) as counted,
       (select sum(accepted)::integer from sent_counts) as sent,
       (select sum(events)::integer from sent_key_counts where match_key = 'em') as with_email`,
  )
  const { requests, deduplicated } = await readSimulatorSummary(simulatorUrl)
  return { ...rows[0], requests, deduplicated }
}

const ONCE = {
  settled: EVENTS,
  attempts: 1,
  counted: EVENTS,
  sent: EVENTS,
  with_email: EVENTS,
  requests: 1,
  deduplicated: 0,
}

it('settles an answer that arrived while the database was unavailable', async test => {
  const { service, proxy, counted, deliver } = await workerBehindProxy(test)
  const run = await deliver(() => {
    proxy.disconnect()
    delay(500).then(proxy.reconnect)
  })
  assert.equal(run.health.kind, 'works')
  assert.deepEqual(await outcomeOf(service), ONCE)
  assert.equal(counted.settled, EVENTS)
  assert.ok(counted.retries >= 3, `${counted.retries} retries`)
  assert.equal(await service.deliver(), 0)
})

for (const [what, text] of [
  ['request', 'insert into "send_attempts"'],
  ['settlement', 'delete from delivery_queue queue using settlement'],
] as const) {
  it(`counts once a ${what} that was committed and whose confirmation was lost`, async test => {
    const { service, proxy, counted, deliver } = await workerBehindProxy(test)
    let isLost = false
    proxy.dropResponseTo(text).then(() => {
      isLost = true
    })
    const run = await deliver(() => {})
    assert.equal(isLost, true)
    assert.equal(run.health.kind, 'works')
    assert.deepEqual(counted, { settled: EVENTS, retries: 1 })
    assert.deepEqual(await outcomeOf(service), ONCE)
    assert.equal(await service.deliver(), 0)
  })
}

it('writes nothing after another worker claimed its deliveries', async test => {
  const { service, proxy, deliver } = await workerBehindProxy(test)
  await deliver(() => {
    proxy.disconnect()
    service.database.pool
      .query(`update delivery_queue set leased_until = leased_until + interval '1 minute'`)
      .then(proxy.reconnect)
  })
  const { settled, attempts, counted } = await outcomeOf(service)
  assert.deepEqual({ settled, attempts, counted }, { settled: 0, attempts: 1, counted: 0 })
})

it('gives up before the lease ends, or after five seconds when stopping', async test => {
  const { proxy, deliver } = await workerBehindProxy(test)
  // With time for one request, and two seconds for its settlement.
  const leaseSeconds = 14
  const startedAt = monotonicSeconds()
  let isStopping = false
  const stopWhenAnswered = () => {
    proxy.disconnect()
    isStopping = true
  }
  const running = deliver(stopWhenAnswered, { leaseSeconds, isStopping: () => isStopping })
  await assert.rejects(running, /ECONNREFUSED|ECONNRESET|Connection terminated|socket/)
  const seconds = monotonicSeconds() - startedAt
  assert.ok(seconds > 3 && seconds < leaseSeconds - 1, `after ${seconds} s`)
})

it('retries only transient errors, and only while the lease lasts', async () => {
  const failing = (code: string) => {
    const tries = { count: 0 }
    const write = async () => {
      tries.count += 1
      throw Object.assign(new Error('the store'), { code })
    }
    return { tries, write }
  }
  const leased = () => ({ leaseEndsAtSeconds: monotonicSeconds() + 1.5 })
  for (const code of ['ECONNREFUSED', '57P01', '53100', '40P01']) {
    const { tries, write } = failing(code)
    await assert.rejects(retryWhileLeased(write, leased()), { code })
    assert.ok(tries.count >= 3 && tries.count <= 5, `${code}: ${tries.count} tries`)
  }
  const { tries, write } = failing('23514')
  await assert.rejects(retryWhileLeased(write, leased()), { code: '23514' })
  assert.equal(tries.count, 1)
  const late = failing('57P01')
  await assert.rejects(retryWhileLeased(late.write, { leaseEndsAtSeconds: monotonicSeconds() }))
  assert.equal(late.tries.count, 1)
})
