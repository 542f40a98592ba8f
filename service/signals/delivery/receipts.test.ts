import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  connectScripted,
  failure,
  type ScriptedPlatform,
  startScriptedPlatform,
} from '../../../testing/fixtures/scripted-platform.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { ROUTES_MILLISECONDS } from '../../../testing/fixtures/two-platforms.ts'
import { type Database, openDatabase } from '../../runtime/db/database.ts'
import { singleNode } from '../../runtime/db/store-nodes.ts'
import type { ReceiptResult } from '../platforms/platform.ts'
import { expireAttempts } from '../retention/expire-events.ts'
import { pollReceipts } from './poll-receipts.ts'

const RECEIPT = 'receipt-1'
const MINUTE = 60
const DAY = 86_400

interface Receiving {
  scripted: ScriptedPlatform
  service: TestService
  destinationId: string
  /** What the reads of the job say. */
  poll: () => ReturnType<typeof pollReceipts>
  deliveryOf: (eventId: string) => Promise<{ status: string; explanation: string }>
}

/** A service whose platform took these events in one request, and tells the result later. */
async function startReceiving(
  test: TestContext,
  count: number,
  routing: object = {},
): Promise<Receiving> {
  const scripted = await startScriptedPlatform(test)
  const service = await startTestService(test, { morePlatforms: [scripted.platform] })
  const destinationId = await connectScripted(service)
  await service.database.pool.query('update destinations set routing = $1 where id = $2', [
    JSON.stringify(routing),
    destinationId,
  ])
  await delay(ROUTES_MILLISECONDS)
  for (let number = 1; number <= count; number += 1) {
    await service.submit(samplePurchase({ event_id: `event-${number}` }))
  }
  scripted.script.push(() => ({ receiptId: RECEIPT }))
  await service.deliver()
  return {
    scripted,
    service,
    destinationId,
    poll: () => pollReceipts(service.delivery, { now: service.clock.now() }),
    deliveryOf: async eventId => {
      const { body } = await service.read(eventId)
      const own = (each: Record<string, unknown>) => each.destination_id === destinationId
      return body.deliveries.find(own)
    },
  }
}

function result(state: ReceiptResult['state'], more: Partial<ReceiptResult> = {}): ReceiptResult {
  return {
    kind: 'receipt',
    state,
    recordCount: null,
    errors: [],
    warnings: [],
    answer: { state },
    ...more,
  }
}

async function readCounts({ database, tracker }: TestService, destinationId: string) {
  const read = async (text: string) => (await database.pool.query(text, [tracker.trackerId])).rows
  const [days] = await read(
    `select sum(planned)::int as planned, sum(accepted)::int as accepted from delivery_counts
     where tracker_id = $1::uuid`,
  )
  const stages = await read(
    `select stage, reason, sum(count)::int as count from stage_counts
     where tracker_id = $1::uuid and stage <> 'accepted' group by 1, 2 order by 1, 2`,
  )
  const [sent] = await read(
    `select sum(accepted)::int as accepted from sent_counts
     where tracker_id = $1::uuid and destination_id = '${destinationId}'`,
  )
  const issues = await read(
    `select class, sum(failed)::int as failed from delivery_issues
     where tracker_id = $1::uuid group by 1`,
  )
  const names = await read(
    `select event_name, sum(accepted)::int as accepted from sent_counts
     where tracker_id = $1::uuid and destination_id = '${destinationId}' group by 1 order by 1`,
  )
  const keys = await read(
    `select match_key, sum(events)::int as events from sent_key_counts
     where tracker_id = $1::uuid and destination_id = '${destinationId}' group by 1 order by 1`,
  )
  return { ...days, stages, sent: sent.accepted, names, keys, issues }
}

it('takes the keys and the platform name of a failed request out of the counts', async test => {
  const { scripted, service, destinationId, poll } = await startReceiving(test, 2, {
    event_names: { Purchase: 'sale' },
  })
  const before = await readCounts(service, destinationId)
  assert.deepEqual(before.names, [{ event_name: 'sale', accepted: 2 }])
  assert.ok(before.keys.length > 0)
  assert.ok(before.keys.every(({ events }: { events: number }) => events === 2))
  scripted.receipts.set(RECEIPT, result('failed', { recordCount: 0 }))
  service.clock.advance(3_600)
  await poll()
  const after = await readCounts(service, destinationId)
  assert.deepEqual(after.names, [{ event_name: 'sale', accepted: 0 }])
  assert.ok(after.keys.every(({ events }: { events: number }) => events === 0))
})

it('accepts events whose platform answers later, and says what is known', async test => {
  const { scripted, service, poll, deliveryOf } = await startReceiving(test, 3)
  const accepted = await deliveryOf('event-1')
  assert.equal(accepted.status, 'accepted')
  assert.match(accepted.explanation, /receipt-1.+not told .+ read at 2026-11-21T12:30.+ fails\.$/)

  service.clock.advance(29 * MINUTE)
  assert.deepEqual(await poll(), { settled: 0, waiting: 0, more: false })
  assert.deepEqual(scripted.receiptReads, [])
  service.clock.advance(MINUTE)
  scripted.receipts.set(RECEIPT, result('processing'))
  assert.deepEqual(await poll(), { settled: 0, waiting: 1, more: false })
  assert.deepEqual(await poll(), { settled: 0, waiting: 0, more: false }, 'it is not due again')

  service.clock.advance(30 * MINUTE)
  scripted.receipts.set(
    RECEIPT,
    result('partially_succeeded', {
      recordCount: 2,
      errors: [{ reason: 'EVENT_TOO_OLD', count: 1 }],
      warnings: [{ reason: 'NO_CONSENT', count: 2 }],
    }),
  )
  assert.deepEqual(await poll(), { settled: 1, waiting: 0, more: false })
  const { status, explanation } = await deliveryOf('event-2')
  assert.equal(status, 'accepted', 'a part changes no status')
  assert.match(
    explanation,
    /processed 2 of the 3 events of it \(1 EVENT_TOO_OLD\); it does not say which\./,
  )
  assert.match(explanation, /It has warnings \(2 NO_CONSENT\)\. Nothing more happens\./)
  service.clock.advance(DAY)
  await poll()
  assert.equal(scripted.receiptReads.length, 2, 'a final receipt is not read again')
})

it('fails the events of a request that failed as a whole, and moves every count', async test => {
  const { scripted, service, destinationId, poll, deliveryOf } = await startReceiving(test, 3)
  const before = await readCounts(service, destinationId)
  assert.equal(before.sent, 3)
  scripted.receipts.set(
    RECEIPT,
    result('failed', { recordCount: 0, errors: [{ reason: 'ACCOUNT_NOT_LINKED', count: 3 }] }),
  )
  service.clock.advance(3_600)
  assert.deepEqual(await poll(), { settled: 1, waiting: 0, more: false })

  const delivery = await deliveryOf('event-3')
  assert.equal(delivery.status, 'failed:permanent')
  assert.match(delivery.explanation, /later processed none of it.+3 ACCOUNT_NOT_LINKED/)
  const after = await readCounts(service, destinationId)
  assert.equal(after.planned, before.planned)
  assert.equal(after.accepted, before.accepted - 3)
  assert.equal(after.sent, 0)
  assert.deepEqual(after.issues, [{ class: 'permanent', failed: 3 }])
  const stage = (name: string, counts: typeof after) =>
    counts.stages.find((each: { stage: string }) => each.stage === name)?.count ?? 0
  assert.equal(stage('failed', after), 3)
  assert.equal(stage('platform_accepted', after), stage('platform_accepted', before) - 3)

  // A second run, and a job that was interrupted, change nothing.
  await service.database.pool.query('update request_receipts set next_poll_at = accepted_at')
  await poll()
  assert.deepEqual(await readCounts(service, destinationId), after)
})

it('leaves alone what was sent again by another request', async test => {
  const { scripted, service, destinationId, poll, deliveryOf } = await startReceiving(test, 2)
  scripted.receipts.set(RECEIPT, result('failed'))
  service.clock.advance(3_600)
  await service.database.pool.query(
    `update deliveries set attempt_ids = attempt_ids || '019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11'::uuid
     where event_id = 'event-1' and destination_id = $1::uuid`,
    [destinationId],
  )
  await poll()
  assert.equal((await deliveryOf('event-1')).status, 'accepted')
  assert.equal((await deliveryOf('event-2')).status, 'failed:permanent')
})

it('asks again while there is no answer, and gives up after a day', async test => {
  const { scripted, service, poll, deliveryOf } = await startReceiving(test, 1)
  const askedAt: number[] = []
  for (let minute = 0; minute < 30 * 60; minute += 5) {
    service.clock.advance(5 * MINUTE)
    const before = scripted.receiptReads.length
    await poll()
    if (scripted.receiptReads.length > before) askedAt.push(minute + 5)
  }
  assert.deepEqual(askedAt, [30, 60, 120, 240, 480, 960, 1440])
  assert.match((await deliveryOf('event-1')).explanation, /no result of the request within a day/)
})

/** A coordinator of which no statement for all trackers succeeds, as while a node is down. */
function failWithNodes(database: Database): Database {
  const query = (statement: string | { text: string }) => {
    const text = typeof statement === 'string' ? statement : statement.text
    const isOfAll = text.includes('from request_receipts') && !text.includes('tracker_id =')
    return isOfAll ? Promise.reject(new Error('a node is down')) : database.pool.query(statement)
  }
  const pool = new Proxy(database.pool, {
    get: (target, name) => (name === 'query' ? query : Reflect.get(target, name, target)),
  })
  return { ...database, pool }
}

it('reads the receipts of healthy nodes while another node of a cluster is down', async test => {
  const { scripted, service, deliveryOf } = await startReceiving(test, 1)
  const { database, delivery, tracker, clock } = service
  const away = openDatabase({
    connectionString: 'postgres://signalbox@127.0.0.1:9/signalbox',
    connectionsMax: 1,
    applicationName: 'signalbox test',
    onIdleError: () => {},
  })
  test.after(away.close)
  await service.newTracker()
  const nodes = {
    ...singleNode(database),
    isCluster: true,
    findNode: async (id: string) => (id === tracker.trackerId ? database : away),
  }
  clock.advance(31 * MINUTE)
  scripted.receipts.set(RECEIPT, result('succeeded', { recordCount: 1 }))
  const coordinator = failWithNodes(database)
  const context = { ...delivery, database: coordinator, nodes }
  await assert.rejects(pollReceipts(context, { now: clock.now() }), /could not be polled/)
  assert.match((await deliveryOf('event-1')).explanation, /processed/)
})

it('stores the receipt of the accepted part of a request', async test => {
  const { scripted, service, destinationId } = await startReceiving(test, 1)
  await service.submit(samplePurchase({ event_id: 'good' }))
  await service.submit(samplePurchase({ event_id: 'bad' }))
  scripted.script.push(({ eventIds }) => ({
    receiptId: 'receipt-2',
    events: eventIds.map(id =>
      id === 'bad'
        ? { outcome: 'permanent', error: failure('permanent') }
        : { outcome: 'accepted', error: null },
    ),
  }))
  await service.deliver()
  const { rows } = await service.database.pool.query(
    `select receipt_id, event_count, cardinality(delivery_ids) as deliveries
     from request_receipts join request_receipt_deliveries
       on receipt = id and request_receipts.tracker_id = request_receipt_deliveries.tracker_id
     where destination_id = $1::uuid order by receipt_id`,
    [destinationId],
  )
  assert.deepEqual(rows, [
    { receipt_id: RECEIPT, event_count: 1, deliveries: 1 },
    { receipt_id: 'receipt-2', event_count: 1, deliveries: 1 },
  ])
})

it('deletes receipts with the requests that they belong to', async test => {
  const { service, deliveryOf } = await startReceiving(test, 2)
  const { database, clock } = service
  const count = async () => {
    const text = `select (select count(*) from request_receipts)
      + (select count(*) from request_receipt_deliveries) as count`
    return Number((await database.pool.query(text)).rows[0].count)
  }
  assert.equal(await count(), 2)
  clock.advance(3 * DAY)
  await expireAttempts({ database, now: clock.now(), attemptDays: 2 })
  assert.equal(await count(), 0)
  assert.equal((await deliveryOf('event-1')).status, 'accepted')
})

it('has no identifier of a person in a receipt', async test => {
  const { service, scripted, poll } = await startReceiving(test, 1)
  scripted.receipts.set(RECEIPT, result('succeeded', { recordCount: 1 }))
  service.clock.advance(3_600)
  await poll()
  const { rows } = await service.database.pool.query('select * from request_receipts')
  assert.equal(rows.length, 1)
  assert.ok(!JSON.stringify(rows).includes('event-1'))
})
