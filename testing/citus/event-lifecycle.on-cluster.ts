import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { STORE_SCHEMA } from '../../service/program/roles/migrate-command.ts'
import { findPlacement } from '../../service/runtime/db/distribute-tables.ts'
import { enqueueJob, releaseAbandonedJobs } from '../../service/runtime/jobs/job-store.ts'
import { DAY_MILLISECONDS } from '../../service/runtime/util/time.ts'
import { insertAttempt } from '../../service/signals/delivery/attempt-store.ts'
import { listEventRefs } from '../../service/signals/events/list-store.ts'
import { ensurePartitions } from '../../service/signals/events/partition-store.ts'
import { mergePayloadIndex } from '../../service/signals/events/payload-index-store.ts'
import {
  suppressDigest,
  waitForPayloadWriters,
} from '../../service/signals/events/suppression-store.ts'
import { insertAlert, updateOpenAlert } from '../../service/signals/reports/alert-store.ts'
import { findActiveDestinations } from '../../service/signals/reports/reconciliation-store.ts'
import { deleteReports } from '../../service/signals/reports/report-expiry-store.ts'
import { expireAttempts, expireOldEvents } from '../../service/signals/retention/expire-events.ts'
import { expirePayloads } from '../../service/signals/retention/expire-payloads.ts'
import { samplePurchase } from '../fixtures/sample-events.ts'
import { startTestService, type TestService } from '../fixtures/service.ts'
import { scriptFaults } from '../fixtures/simulator.ts'
import { findCitusObstacle } from './cluster.ts'
import { createTrackersOnEachNode } from './tracker-placement.ts'

const skip = findCitusObstacle() ?? false
const REFUSE_ALL = [{ respond: { status: 400, code: 100, subcode: 2_804_048 } }]

interface Shop {
  trackerId: string
  destinationId: string
  secret: string
}

async function withShops(service: TestService): Promise<Shop[]> {
  const trackers = await createTrackersOnEachNode(service, 2)
  return trackers.map(({ trackerId, destinationId, trackerSecret }) => ({
    trackerId,
    destinationId,
    secret: trackerSecret,
  }))
}

function submit(service: TestService, { secret }: Shop, changes: Record<string, unknown>) {
  return service.request('POST', '/api/v1/events', { secret, body: samplePurchase(changes) })
}

async function read(service: TestService, { secret }: Shop, eventId: string) {
  return (await service.request('GET', `/api/v1/events/${eventId}`, { secret })).body
}

it('delivers, replays, withdraws and erases for trackers on two nodes', { skip }, async test => {
  const service = await startTestService(test)
  const { database, clock } = service
  await ensurePartitions(database, clock.now(), 3)
  const shops = await withShops(service)
  for (const shop of shops) {
    const purchases = Array.from({ length: 20 }, (_, n) => ({
      event_id: `order-${n}`,
      visitor_id: `visitor-${n}`,
      user_data: { em: `p${n}@example.com`, client_user_agent: 'Mozilla/5.0' },
    }))
    const replies = await Promise.all(purchases.map(changes => submit(service, shop, changes)))
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [202])
    assert.equal((await submit(service, shop, purchases[0] as object as never)).status, 200)
    const differing = { ...purchases[0], event_name: 'Lead' }
    assert.equal((await submit(service, shop, differing)).status, 200)
  }

  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  assert.equal(await service.deliver(), 80)
  await scriptFaults(service.simulatorUrl, [])
  for (const { secret } of shops) {
    const { body } = await service.request('POST', '/api/v1/deliveries/replay', { secret })
    assert.equal(body.queued, 20)
  }
  for (const shop of shops) {
    const withdrawal = await submit(service, shop, {
      event_id: 'withdrawal',
      event_name: 'consent_withdrawal',
      visitor_id: 'visitor-3',
      consent: undefined,
      consent_basis: 'legitimate_interest',
      user_data: undefined,
      value_data: undefined,
    })
    assert.equal(withdrawal.status, 202, withdrawal.text)
    const body = { identifier_hash: hash('sha256', 'p4@example.com') }
    const erased = await service.request('DELETE', '/api/v1/user-data', {
      secret: shop.secret,
      body,
    })
    assert.equal(erased.status, 200, erased.text)
    assert.equal(erased.body.events_updated, 1)
    assert.equal(erased.body.sessions_updated, 1)
  }
  await service.deliver()
  for (const shop of shops) {
    const statusOf = async (id: string) => (await read(service, shop, id)).deliveries[0].status
    assert.equal(await statusOf('order-1'), 'accepted')
    assert.equal(await statusOf('order-3'), 'skipped:consent')
    assert.equal(await statusOf('order-4'), 'skipped:consent')
    const { event } = await read(service, shop, 'order-4')
    assert.equal(event.payload_expired, true)
    const page = await listEventRefs(database, { trackerId: shop.trackerId, offset: 0, limit: 10 })
    assert.equal(page.total, 21)
    assert.equal(page.events.length, 10)
  }
  const senders = await findActiveDestinations(database, {
    sentSince: '2026-11-20',
    after: null,
    limit: 10,
  })
  assert.deepEqual(
    senders.map(({ trackerId }) => trackerId).sort(),
    shops.map(({ trackerId }) => trackerId).sort(),
  )
})

it('expires payloads, sessions, attempts and weeks on every node', { skip }, async test => {
  const service = await startTestService(test)
  const { database, clock } = service
  await ensurePartitions(database, clock.now(), 3)
  const shops = await withShops(service)
  for (const shop of shops) assert.equal((await submit(service, shop, {})).status, 202)
  await service.deliver()
  const count = async (table: string) => {
    const { rows } = await database.pool.query(`select count(*) as count from ${table}`)
    return rows[0].count
  }
  assert.equal(await count('sessions'), 4)
  assert.equal(await count('event_payloads'), 4)

  const later = new Date(clock.now().getTime() + 100 * DAY_MILLISECONDS)
  await expirePayloads({ database, now: later, payloadDays: 90 })
  assert.equal(await count('event_payloads'), 0)
  assert.equal(await count('sessions'), 0)
  await expireAttempts({ database, now: later, attemptDays: 90 })
  assert.equal(await count('send_attempts'), 0)
  assert.equal(await count('events'), 4)

  const muchLater = new Date(clock.now().getTime() + 800 * DAY_MILLISECONDS)
  const expired = await expireOldEvents({ database, now: muchLater, ledgerMonths: 25 })
  assert.equal(expired.weeks, 2)
  for (const table of ['events', 'event_keys', 'all_deliveries', 'event_counts']) {
    assert.equal(await count(table), 0, table)
  }
  assert.equal(await deleteReports(database, '2029-01-01'), 0)
})

it('does not count a repeated insert on any node', { skip }, async test => {
  const service = await startTestService(test)
  const { database, clock } = service
  for (const { trackerId, destinationId } of await withShops(service)) {
    const alert = {
      trackerId,
      destinationId,
      kind: 'match_quality_drop',
      sentence: 'It fell.',
      details: {},
    } as never
    assert.equal(await updateOpenAlert(database, alert), false)
    assert.equal(await insertAlert(database, alert, clock.now()), true)
    assert.equal(await insertAlert(database, alert, clock.now()), false)
    assert.equal(await updateOpenAlert(database, alert), true)
    const attempt = {
      trackerId,
      id: '00000000-0000-4000-8000-000000000009',
      destinationId,
      startedAt: clock.now(),
      durationMilliseconds: 1,
      eventCount: 1,
      isTest: false,
      result: { outcome: 'accepted', httpStatus: 200, traceId: null, answer: null },
    } as never
    await insertAttempt(database, attempt)
    await insertAttempt(database, attempt)
  }
})

it('merges the pending list of the index on every shard', { skip }, async test => {
  const service = await startTestService(test)
  const { database, clock } = service
  await ensurePartitions(database, clock.now(), 1)
  for (const shop of await withShops(service)) await submit(service, shop, {})
  const pendingPages = async () => {
    const { rows } = await database.pool.query(
      `select sum(run.result::integer) as pages from pg_inherits day
       cross join lateral run_command_on_shards(day.inhrelid::regclass, $command$
         select coalesce(sum(gin_clean_pending_list(index.oid)), 0)
         from pg_index join pg_class index on index.oid = pg_index.indexrelid
         join pg_am method on method.oid = index.relam
         where pg_index.indrelid = '%s'::regclass and method.amname = 'gin' $command$) run
       where day.inhparent = 'signalbox_store.event_payloads'::regclass`,
    )
    return Number(rows[0].pages)
  }
  await mergePayloadIndex(database)
  assert.equal(await pendingPages(), 0)
  for (const shop of await withShops(service)) await submit(service, shop, { event_id: 'next' })
  assert.ok((await pendingPages()) > 0)
})

it('waits for writers on every node before it erases', { skip }, async test => {
  const service = await startTestService(test)
  const { database, clock, delivery } = service
  for (const { trackerId } of await withShops(service)) {
    const node = (await delivery.nodes?.findNode(trackerId)) ?? database
    const writer = await node.pool.connect()
    await writer.query('begin')
    await writer.query(
      `insert into event_payloads (tracker_id, event_id, space, created_at, received_on, user_data,
         click_ids, identifier_keys)
       values ($1::uuid, 'slow', 0, $2::timestamptz, $2::date, '{}', '{}', '{}')`,
      [trackerId, clock.now()],
    )
    await suppressDigest(database, { trackerId, keyed: '00'.repeat(32), at: clock.now() })
    let isOver = false
    const barrier = waitForPayloadWriters(database).then(result => {
      isOver = true
      return result
    })
    await new Promise(resolve => setTimeout(resolve, 300))
    assert.equal(isOver, false)
    await writer.query('commit')
    writer.release()
    assert.equal(await barrier, true)
  }
})

it('keeps jobs on the coordinator', { skip }, async test => {
  const { database } = await startTestService(test)
  assert.equal(
    findPlacement(STORE_SCHEMA.placements, { schema: 'signalbox_store', name: 'job_records' }),
    'local',
  )
  await enqueueJob(database, 'expire-payloads')
  assert.equal(await releaseAbandonedJobs(database, [{ name: 'index-lists', leaseSeconds: 1 }]), 0)
})
