import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  connectScripted,
  startScriptedPlatform,
} from '../../../testing/fixtures/scripted-platform.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { deliverDueBatch } from './deliver-batch.ts'
import { pollReceipts } from './poll-receipts.ts'
import { RequestBudgets } from './request-budget-store.ts'

const AT = new Date('2026-11-21T12:00:10.000Z')
const BUDGET = { platform: 'scripted', key: 'project-1', perMinute: 20, perDay: 50 }

function later(seconds: number): Date {
  return new Date(AT.getTime() + seconds * 1_000)
}

it('gives a minute of requests to all processes together, and as many in the next', async test => {
  const { database } = await createTestDatabase(test)
  const processes = [0, 1, 2].map(() => new RequestBudgets(database))
  const takeAll = async (at: Date) => {
    let taken = 0
    for (let round = 0; round < 30; round += 1) {
      const waits = await Promise.all(processes.map(process => process.take(BUDGET, at)))
      taken += waits.filter(wait => wait === 0).length
    }
    return taken
  }
  const first = await takeAll(AT)
  // What a process has reserved and not used is lost, at most a chunk of two.
  assert.ok(first <= 20 && first >= 16, String(first))
  assert.equal(await processes[0]?.take(BUDGET, AT), 50, 'until the next minute')
  const second = await takeAll(later(60))
  assert.ok(second <= 20 && second >= 16, String(second))
  const third = await takeAll(later(120))
  assert.ok(first + second + third <= 50, 'the day ends at 50')
  const wait = await processes[0]?.take(BUDGET, later(180))
  assert.ok(wait !== undefined && wait > 3_000 && wait <= 3_600, String(wait))
})

it('does not wait for the time of a clock that was ahead', async test => {
  const { database } = await createTestDatabase(test)
  const [ahead, other] = [new RequestBudgets(database), new RequestBudgets(database)]
  for (const seconds of [31 * 3_600, 40 * 60, 6 * 60]) {
    const wrong = later(seconds)
    while ((await ahead.take(BUDGET, wrong)) === 0);
    assert.ok((await other.take(BUDGET, wrong)) > 0, 'nothing is left')
    // The same minute of two rounds is one window.
    const right = later(-seconds)
    assert.equal(await ahead.take(BUDGET, right), 0, `set back by ${seconds} s`)
    assert.equal(await other.take(BUDGET, right), 0, `${seconds} s behind`)
  }
})

it('counts in the later minute while clocks are minutes apart', async test => {
  const { database } = await createTestDatabase(test)
  const [ahead, behind] = [new RequestBudgets(database), new RequestBudgets(database)]
  while ((await ahead.take(BUDGET, later(240))) === 0);
  assert.ok((await behind.take(BUDGET, AT)) > 0)
})

it('reserves in chunks, so that most requests take no statement', async test => {
  const { database } = await createTestDatabase(test)
  const budgets = new RequestBudgets(database)
  const many = { ...BUDGET, perMinute: 1_000, perDay: 10_000 }
  let statements = 0
  const { query } = database.pool
  database.pool.query = ((...input: unknown[]) => {
    statements += 1
    return Reflect.apply(query, database.pool, input)
  }) as typeof query
  for (let number = 0; number < 500; number += 1) assert.equal(await budgets.take(many, AT), 0)
  assert.ok(statements <= 12, String(statements))
})

it('counts each key for itself, and nothing when the limit is zero', async test => {
  const { database } = await createTestDatabase(test)
  const budgets = new RequestBudgets(database)
  const one = { ...BUDGET, perMinute: 1 }
  assert.equal(await budgets.take(one, AT), 0)
  assert.ok((await budgets.take(one, AT)) > 0)
  assert.equal(await budgets.take({ ...one, key: 'project-2' }, AT), 0)
  assert.ok((await budgets.take({ ...one, key: 'project-3', perMinute: 0 }, AT)) > 0)
})

it('hands a batch back when no request is left, and sends it later as a first attempt', async test => {
  const scripted = await startScriptedPlatform(test)
  scripted.budget = { key: 'project-1', perMinute: 1, perDay: 100 }
  const service = await startTestService(test, { morePlatforms: [scripted.platform] })
  const destinations = [await connectScripted(service), await connectScripted(service, 'b', 'two')]
  await service.submit(samplePurchase())
  const healths: unknown[] = []
  for (const destinationId of destinations) {
    const queue = { trackerId: service.tracker.trackerId, destinationId, platform: 'scripted' }
    const details = { isProbe: false, isTrial: false }
    const run = await deliverDueBatch(service.delivery, { ...queue, ...details }, () => {})
    healths.push(run.health.kind)
  }
  assert.deepEqual(healths, ['works', 'request_limit'], 'both destinations share the key')
  const read = async () => {
    const { body } = await service.read('order-1001')
    return body.deliveries
      .filter((each: { destination_id: string }) => destinations.includes(each.destination_id))
      .map((each: Record<string, unknown>) => `${each.status} ${each.attempt_count}`)
      .sort()
  }
  assert.deepEqual(await read(), ['accepted 1', 'queued 0'])
  service.clock.advance(60)
  await service.deliver()
  assert.deepEqual(await read(), ['accepted 1', 'accepted 1'])
  assert.equal(scripted.requests.length, 2)
})

it('asks with the time of each receipt, so that a slow poll forgets no request', async test => {
  const scripted = await startScriptedPlatform(test)
  scripted.budget = { key: 'project-1', perMinute: 300, perDay: 1_000 }
  const service = await startTestService(test, { morePlatforms: [scripted.platform] })
  await connectScripted(service)
  for (const receiptId of ['first', 'second', 'third']) {
    scripted.script.push(() => ({ receiptId }))
    await service.submit(samplePurchase({ event_id: receiptId }))
    await service.deliver()
  }
  service.clock.advance(3_600)
  const budget = { platform: 'scripted', ...scripted.budget }
  const other = new RequestBudgets(service.database)
  const platforms = service.delivery.platforms.map(platform => ({
    ...platform,
    ...(platform.name === 'scripted' && {
      readReceipt: async () => {
        // As an answer that takes longer than clocks of two processes may differ, while another
        // process sends.
        service.clock.advance(361)
        assert.equal(await other.take(budget, service.clock.now()), 0)
        return UNKNOWN_RESULT
      },
    }),
  }))
  const readDay = async () => {
    const { rows } = await service.database.pool.query('select day_reserved from request_budgets')
    return rows[0].day_reserved as number
  }
  const before = await readDay()
  const context = { ...service.delivery, platforms }
  const { waiting } = await pollReceipts(context, { now: service.clock.now() })
  assert.equal(waiting, 3)
  assert.equal(await readDay(), before + 6)
})

it('counts a test purchase, which is sent also when no request is left', async test => {
  const scripted = await startScriptedPlatform(test)
  scripted.budget = { key: 'project-1', perMinute: 2, perDay: 100 }
  const service = await startTestService(test, { morePlatforms: [scripted.platform] })
  const destinationId = await connectScripted(service)
  const place = `/api/v1/destinations/${destinationId}`
  await service.request('PATCH', `${place}/test-mode`, { body: { enabled: true } })
  const budget = { platform: 'scripted', ...scripted.budget }
  for (let number = 1; number <= 3; number += 1) {
    assert.equal((await service.request('POST', `${place}/test-purchase`)).status, 200)
    assert.equal(scripted.requests.length, number)
  }
  assert.ok((await new RequestBudgets(service.database).take(budget, service.clock.now())) > 0)
})

const UNKNOWN_RESULT = {
  kind: 'unavailable',
  cause: 'out_of_reach',
  sentence: '',
  waitSeconds: 0,
} as const
