import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import type { EarlierStore } from '../../../../testing/earlier-version/earlier-store.ts'
import { accept, REFUSED } from '../../../../testing/earlier-version/earlier-writers.ts'
import {
  createEarlierEvent,
  createFilledStore,
  OLD_TRACKER,
  OTHER_TRACKER,
  openUpgradedDatabase,
  STORED_AT,
  TRACKER,
} from '../../../../testing/earlier-version/filled-store.ts'
import { acceptedSettlement } from '../../../../testing/fixtures/deliveries.ts'
import {
  assertCountersMatch,
  ledgerEntry,
  plannedDelivery,
  storeEntries,
} from '../../../../testing/fixtures/stored-events.ts'
import { STORE_SCHEMA } from '../../../program/roles/migrate-command.ts'
import type { Database } from '../../../runtime/db/database.ts'
import { migrate } from '../../../runtime/db/migrate.ts'
import { DAY_MILLISECONDS } from '../../../runtime/util/time.ts'
import { claimDeliveries } from '../../delivery/claim-store.ts'
import { reserveDeliveryIds } from '../../delivery/plan-store.ts'
import { replayFailed } from '../../delivery/replay-store.ts'
import { settleDeliveries } from '../../delivery/settlement-store.ts'
import { erasePerson } from '../../erasure/erase-person.ts'
import { expireOldEvents } from '../../retention/expire-events.ts'
import { findEventsById, recordDifferingSubmissions } from '../event-store.ts'
import { prepareLedgerUpgrade } from './upgrade-store.ts'

async function upgradedStore(test: TestContext) {
  const { store, known } = await createFilledStore(test)
  const database = openUpgradedDatabase(test, store)
  await migrate(database, STORE_SCHEMA)
  return { store, known, database }
}

it('treats the ID of an earlier event as a duplicate in both spaces', async test => {
  const { database } = await upgradedStore(test)
  for (const space of ['secret', 'publishable'] as const) {
    const repeated = ledgerEntry({ trackerId: TRACKER, eventId: 'event-5', space })
    const fresh = ledgerEntry({ trackerId: TRACKER, eventId: 'fresh', space })
    assert.deepEqual(await storeEntries(database, [repeated, fresh]), ['fresh'])
  }
})

it('stores new events in the legacy partition up to its bound, then in others', async test => {
  const { database } = await upgradedStore(test)
  const { rows } = await database.pool.query('select until from legacy_events')
  const until: Date = rows[0].until
  const before = new Date(until.getTime() - 1)
  const entries = [
    ledgerEntry({ trackerId: TRACKER, eventId: 'after', createdAt: until }),
    ledgerEntry({ trackerId: TRACKER, eventId: 'before', createdAt: before }),
  ]
  assert.deepEqual(await storeEntries(database, entries), ['after', 'before'])
  const { rows: found } = await database.pool.query(
    `select event_id, tableoid::regclass::text as partition from events
     where event_id in ('before', 'after') order by 1`,
  )
  assert.deepEqual(found, [
    { event_id: 'after', partition: 'events_default' },
    { event_id: 'before', partition: 'events_legacy' },
  ])
  assert.equal(await reserveDeliveryIds(database, TRACKER, 10), 1_000_010)
})

it('reads earlier events as they were stored, and recognizes their repeated bodies', async test => {
  const { database } = await upgradedStore(test)
  const [event] = await findEventsById(database, TRACKER, ['event-5'])
  assert.deepEqual(
    [event?.eventClass, event?.attributionJoin, event?.eventSource, event?.consent],
    ['conversion', 'allowed', 'https://shop.example/', null],
  )
  assert.deepEqual(event?.payload, {
    visitorId: 'visitor-5',
    identityMark: 'm',
    digests: { em: [hash('sha256', '5@example.com')] },
    plain: {},
    clickIds: {},
  })
  const { rows } = await database.pool.query(
    `select body_digest from events where tracker_id = $1 and event_id = 'event-5'`,
    [TRACKER],
  )
  const repeated = { trackerId: TRACKER, space: 'secret', eventId: 'event-5' } as const
  const bodyDigest: Buffer = rows[0].body_digest
  await recordDifferingSubmissions(database, [{ ...repeated, bodyDigest, at: STORED_AT }])
  assert.equal((await findEventsById(database, TRACKER, ['event-5']))[0]?.differingSubmissions, 0)
})

it('erases a person from events stored before and after the upgrade', async test => {
  const { database } = await upgradedStore(test)
  const digest = hash('sha256', '12@example.com')
  const unindexed = hash('sha256', '17@example.com')
  const payload = {
    visitorId: 'new-visitor',
    identityMark: 'm',
    digests: { em: [digest] },
    plain: {},
    clickIds: {},
  }
  await storeEntries(database, [ledgerEntry({ trackerId: TRACKER, eventId: 'fresh', payload })])
  const toKeyed = (one: string) => one
  const scope = { database, now: () => STORED_AT, suppress: async () => {}, toKeyed }
  const keys = ['em'] as const
  const erased = await erasePerson(scope, { trackerId: TRACKER, digest, keys })
  // The visitor of event-12 has another event, which names another person.
  assert.equal(erased.events, 2)
  const other = await erasePerson(scope, { trackerId: TRACKER, digest: unindexed, keys })
  assert.equal(other.events, 1)
  const events = await findEventsById(database, TRACKER, ['event-12', 'event-17', 'fresh'])
  assert.deepEqual(
    events.map(event => event.payload),
    [null, null, null],
  )
})

it('replays, claims and settles a delivery that failed before the upgrade', async test => {
  const { database } = await upgradedStore(test)
  const { rows } = await database.pool.query(
    `select id, created_at, attempt_count from deliveries
     where tracker_id = $1 and replayable_until is not null order by id limit 1`,
    [TRACKER],
  )
  const [failed] = rows
  const at = new Date()
  const counts = await database.query.transaction().execute(query =>
    replayFailed(
      { query },
      {
        trackerId: TRACKER,
        deliveryIds: [failed.id],
        eventName: null,
        limit: 10,
        at,
        windowEndsAfter: at,
      },
    ),
  )
  assert.equal(counts.queued, 1)
  await database.pool.query(
    `update delivery_queue set next_attempt_at = $2
    where tracker_id = $1 and id <> $3`,
    [TRACKER, new Date(at.getTime() + DAY_MILLISECONDS), failed.id],
  )
  const queue = { trackerId: TRACKER, destinationId: TRACKER, isProbe: false }
  const claimed = await claimDeliveries(database, {
    queue,
    limit: 10,
    claimedAt: at,
    leaseSeconds: 60,
  })
  const [delivery] = claimed.deliveries
  assert.ok(delivery && claimed.deliveries.length === 1)
  assert.deepEqual(
    [delivery.id, delivery.attemptCount, delivery.createdAt],
    [failed.id, failed.attempt_count + 1, failed.created_at],
  )
  const settled = await settleDeliveries(database, {
    trackerId: TRACKER,
    destinationId: TRACKER,
    leaseEndsAt: claimed.leaseEndsAt,
    at,
    settlements: [acceptedSettlement(delivery)],
    sent: { groups: [], marks: new Map() },
  })
  assert.equal(settled, 1)
  assert.deepEqual(await statusOf(database, failed.id), ['accepted'])
})

async function statusOf({ pool }: Database, id: number): Promise<string[]> {
  const { rows } = await pool.query(
    'select status from all_deliveries where tracker_id = $1 and id = $2',
    [TRACKER, id],
  )
  return rows.map(({ status }) => status)
}

it('expires earlier events with their keys and deliveries', async test => {
  const { database } = await upgradedStore(test)
  const now = new Date('2027-01-17T12:00:00.000Z')
  const { rows } = await database.pool.query(
    `select count(*) as old from events where created_at < '2026-11-17T00:00:00Z'`,
  )
  const expired = await expireOldEvents({ database, now, ledgerMonths: 2 })
  assert.ok(rows[0].old > 0)
  assert.equal(expired.events, rows[0].old)
  const { rows: left } = await database.pool.query(
    `select (select count(*) from events) as events, (select count(*) from event_keys) as keys,
       (select count(*) from all_deliveries) as deliveries`,
  )
  const events = 3_000 - rows[0].old
  assert.deepEqual(left, [{ events, keys: 2 * events, deliveries: events }])
  await assertCountersMatch(database)
  const again = ledgerEntry({ trackerId: OLD_TRACKER, eventId: 'event-200', createdAt: now })
  const plan = plannedDelivery({ trackerId: OLD_TRACKER, eventId: 'event-200', id: 2_000_000 })
  assert.deepEqual(await storeEntries(database, [again], [plan]), ['event-200'])
})

/** Statements of version 0.5, one for each way in which it uses the tables. */
const EARLIER_STATEMENTS = [
  `select events.* from unnest(array['event-1']) as asked(event_id) cross join lateral (
     select * from events where tracker_id = '${TRACKER}' and event_id = asked.event_id limit 1
   ) events`,
  `select * from event_payloads where identifier_keys && array[1] offset 0`,
  `select event_id from event_payloads_default where received_on < current_date`,
  `update deliveries set status = 'sent' where tracker_id = '${TRACKER}'`,
  `with due as materialized (
     select ctid as place from deliveries where tracker_id = '${TRACKER}' for update skip locked
   ) update deliveries set status = 'sent' from due where deliveries.ctid = due.place`,
  `delete from deliveries where tracker_id = '${TRACKER}'`,
  `update events set body_digest = '' where tracker_id = '${TRACKER}'`,
  `delete from event_payloads where tracker_id = '${TRACKER}'`,
]

it('refuses statements of the previous version like an unavailable store', async test => {
  const { store, known } = await createFilledStore(test)
  await assertPreparedStatementRefused(test, store)
  await assert.rejects(accept(store, [createEarlierEvent(TRACKER, 5_000)], known), {
    code: REFUSED,
  })
  for (const statement of EARLIER_STATEMENTS) {
    await assert.rejects(store.pool.query(statement), { code: REFUSED }, statement)
  }
})

/** A prepared statement that returns all columns works until the switchover. */
async function assertPreparedStatementRefused(
  test: TestContext,
  store: EarlierStore,
): Promise<void> {
  const client = await store.pool.connect()
  const text = 'select events.* from events where tracker_id = $1 limit 1'
  const read = () => client.query({ name: 'prepared', text, values: [OTHER_TRACKER] })
  const database = openUpgradedDatabase(test, store)
  try {
    assert.equal((await read()).rows.length, 1)
    await prepareLedgerUpgrade(database)
    assert.equal((await read()).rows.length, 1)
    await migrate(database, STORE_SCHEMA)
    await assert.rejects(read(), { code: REFUSED })
  } finally {
    client.release(true)
  }
}
