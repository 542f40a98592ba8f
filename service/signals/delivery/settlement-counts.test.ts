import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { deliverRound } from '../../../testing/fixtures/delivery-round.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { type Database, openDatabase } from '../../runtime/db/database.ts'
import { COUNTER_SHARD } from '../../runtime/db/sql-fragments.ts'
import { listIssueCounts } from './issue-list-store.ts'

const CONTENT = { respond: { status: 400, code: 100, subcode: 2_804_048 } }

async function readStages({ database: { pool } }: TestService) {
  const { rows } = await pool.query(
    `select hour, stage, reason, sum(count)::integer as count from stage_counts
     group by hour, stage, reason order by hour, stage, reason`,
  )
  return rows.map(({ hour, ...row }) => [hour.toISOString().slice(11, 16), ...Object.values(row)])
}

async function readIssues({ database, tracker: { trackerId } }: TestService) {
  const issues = await listIssueCounts(database, { trackerId, from: '2026-01-01', limit: 10 })
  return issues
    .map(issue => ({ ...issue, ids: issue.events.map(({ id }) => id) }))
    .map(({ class: name, code, subcode, reason, attempts, failed, ids }) => [
      ...[name, code, subcode, reason, attempts, failed, ids.join(' ')],
    ])
}

it('counts accepted events, held deliveries and what the platform accepted, by hour', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_id: 'a' }))
  await service.submit(samplePurchase({ event_id: 'a' }))
  await service.submit(samplePurchase({ event_id: 'b', event_time: '2026-10-01T10:00:00Z' }))
  await service.submit(samplePurchase({ event_id: 'c', tcf: { string: 'unreadable' } }))
  service.clock.advance(3_600)
  await service.deliver()
  assert.deepEqual(await readStages(service), [
    ['12:00', 'accepted', '', 3],
    ['12:00', 'held', 'outside_window', 1],
    ['13:00', 'platform_accepted', '', 2],
  ])
  assert.deepEqual(await readIssues(service), [])
})

it('counts a waiting delivery of a visitor who withdraws as held', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_id: 'a' }))
  await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'visitor-1',
  })
  assert.deepEqual(await readStages(service), [
    ['12:00', 'accepted', '', 2],
    ['12:00', 'held', 'consent_withdrawn', 1],
  ])
})

it('counts each cause of a failure with the latest event IDs', async test => {
  const service = await startTestService(test)
  const { deliver, submit, simulatorUrl, clock } = service
  await scriptFaults(simulatorUrl, [{ times: 1, respond: { status: 500, code: 2 } }, CONTENT])
  await submit(samplePurchase({ event_id: 'first' }))
  await deliver()
  assert.deepEqual(await readIssues(service), [['retry', 2, null, null, 1, 0, 'first']])
  clock.advance(60)
  await deliver()
  for (const event_id of ['second', 'third', 'fourth']) {
    clock.advance(1)
    await submit(samplePurchase({ event_id }))
    await deliver()
  }
  assert.deepEqual(await readIssues(service), [
    ['permanent', 100, 2_804_048, null, 4, 4, 'fourth third second'],
    ['retry', 2, null, null, 1, 0, 'first'],
  ])
  const stages = await readStages(service)
  assert.deepEqual(stages.at(-1), ['12:00', 'failed', 'refused_by_platform', 4])
})

it('names the latest event IDs of a cause in the order of settlement over all workers', async test => {
  const service = await startTestService(test)
  const workers = await openWorkers(test, service)
  await scriptFaults(service.simulatorUrl, [CONTENT])
  for (const [index, event_id] of ['first', 'second', 'third', 'fourth', 'fifth'].entries()) {
    service.clock.advance(1)
    await service.submit(samplePurchase({ event_id }))
    await deliverRound({ ...service.delivery, database: workers[index % 2] as Database })
  }
  assert.deepEqual(await readIssues(service), [
    ['permanent', 100, 2_804_048, null, 5, 5, 'fifth fourth third'],
  ])
})

it('names an event once whose retries several workers settle', async test => {
  const service = await startTestService(test)
  const workers = await openWorkers(test, service)
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 500, code: 2 } }])
  for (const event_id of ['a', 'b']) await service.submit(samplePurchase({ event_id }))
  for (const worker of [...workers, ...workers]) {
    service.clock.advance(3_600)
    await deliverRound({ ...service.delivery, database: worker })
  }
  assert.deepEqual(await readIssues(service), [['retry', 2, null, null, 8, 0, 'a b']])
})

/** Two workers whose connections count in different shards. */
async function openWorkers(test: TestContext, service: TestService): Promise<Database[]> {
  const workers = new Map<number, Database>()
  while (workers.size < 2) {
    const database = openDatabase({
      connectionString: service.connectionString,
      connectionsMax: 1,
      applicationName: 'signalbox test',
      onIdleError: () => {},
    })
    test.after(() => database.close())
    const { rows } = await database.pool.query(`select ${COUNTER_SHARD} as shard`)
    workers.set(rows[0].shard, database)
  }
  return [...workers.values()]
}

it('counts a refused credential at every attempt and a failure before sending', async test => {
  const service = await startTestService(test)
  const { deliver, submit, simulatorUrl, database, tracker } = service
  await scriptFaults(simulatorUrl, [{ times: 1, respond: { status: 400, code: 190 } }])
  await submit(samplePurchase({ event_id: 'a' }))
  await deliver()
  await database.pool.query(`update destinations set status = 'active' where tracker_id = $1`, [
    tracker.trackerId,
  ])
  await database.pool.query('delete from event_payloads')
  await deliver()
  assert.deepEqual(await readIssues(service), [
    ['auth', 190, null, null, 1, 0, 'a'],
    ['local', null, null, 'payload_expired', 1, 1, 'a'],
  ])
})

it('stores at most two hundred causes of a day and destination, and counts the rest', async test => {
  const service = await startTestService(test)
  const { deliver, submit, simulatorUrl, database, tracker, clock } = service
  await database.pool.query(
    `insert into delivery_issues select $1, $2, '2026-11-21', 'permanent', 100, number, '', 0, 1, 1, $3, $3, '{}'
     from generate_series(1, 200) number`,
    [tracker.trackerId, tracker.destinationId, clock.now()],
  )
  await scriptFaults(simulatorUrl, [CONTENT])
  await submit(samplePurchase({ event_id: 'a' }))
  await deliver()
  const { rows } = await database.pool.query(
    'select class, code, subcode, failed from delivery_issues where event_ids <> $1',
    ['{}'],
  )
  assert.deepEqual(rows, [{ class: 'permanent', code: -1, subcode: -1, failed: 1 }])
})

it('counts no test delivery', async test => {
  const service = await startTestService(test)
  const { deliver, submit, simulatorUrl, tracker, request } = service
  const path = `/api/v1/destinations/${tracker.destinationId}/test-mode`
  await request('PATCH', path, { body: { enabled: true } })
  await scriptFaults(simulatorUrl, [CONTENT])
  await submit(samplePurchase({ event_id: 'a' }))
  await deliver()
  assert.deepEqual(await readIssues(service), [])
  assert.deepEqual(await readStages(service), [['12:00', 'accepted', '', 1]])
})
