import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  ledgerEntry,
  plannedDelivery,
  storeEntries,
} from '../../../testing/fixtures/stored-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { ensurePartitions } from '../events/partition-store.ts'
import { expireAttempts, expireOldEvents } from './expire-events.ts'
import { expirePayloads } from './expire-payloads.ts'

const MONTH_DAYS = 31
const EVENTS = 3_000
const TABLES = ['events', 'deliveries', 'sessions', 'event_counts', 'delivery_counts']

/** Stores a month of events, each with its own delivery and visitor. */
async function storeMonth(service: TestService, month: number): Promise<void> {
  const { database, clock, tracker } = service
  const { trackerId, destinationId } = tracker
  const createdAt = clock.now()
  await ensurePartitions(database, createdAt, 1)
  const named = Array.from({ length: EVENTS }, (_, index) => {
    const eventId = `${index * 7_919}-${month}`
    const session = { visitorId: eventId, landingSource: null, clickIds: {} }
    const base = { trackerId, eventId, createdAt }
    return {
      entry: ledgerEntry({ ...base, session }),
      delivery: plannedDelivery({ ...base, id: month * EVENTS + index, destinationId }),
    }
  })
  const entries = named.map(({ entry }) => entry)
  await storeEntries(
    database,
    entries,
    named.map(({ delivery }) => delivery),
  )
}

async function expireAll({ database, clock }: TestService): Promise<void> {
  const now = clock.now()
  await expirePayloads({ database, now, payloadDays: 30 })
  await expireOldEvents({ database, now, ledgerMonths: 1 })
  await expireAttempts({ database, now, attemptDays: 30 })
}

/**
 * Vacuums until every deleted row is gone. An analyze that autovacuum started by itself may still
 * see rows that were just deleted, and a vacuum beside it removes none of them.
 */
async function vacuum(service: TestService): Promise<void> {
  const { database } = service
  const client = await database.pool.connect()
  let report = ''
  const read = (notice: Error | { message?: string | undefined }) => {
    report += notice.message
  }
  client.on('notice', read)
  for (const table of TABLES) {
    await waitUntil(`${table} has no deleted rows`, async () => {
      report = ''
      await client.query(`vacuum (verbose, truncate off) ${table}`)
      assert.match(report, /tuples: \d+ removed/)
      return !/[1-9]\d* are dead but not yet removable/.test(report)
    })
  }
  client.off('notice', read)
  client.release()
  await endOlderTransactions(service)
}

/**
 * Waits until every transaction of the server began after the vacuum. The next vacuum gives back the
 * pages of indexes that this one emptied only then, whatever the database of the transaction: one
 * that another test kept open made `sessions` grow by 17 pages a month.
 */
async function endOlderTransactions({ database: { pool } }: TestService): Promise<void> {
  const { rows } = await pool.query('select pg_current_xact_id()::xid::text as id')
  await waitUntil('every earlier transaction of the server has ended', async () => {
    const older = await pool.query(
      `select from pg_stat_activity where pid <> pg_backend_pid()
         and (age(backend_xid) >= age($1::xid) or age(backend_xmin) >= age($1::xid))`,
      [rows[0].id],
    )
    return older.rowCount === 0
  })
}

/** Bytes of each table with its indexes, and of all payload partitions together. */
async function sizes({ database }: TestService): Promise<Record<string, number>> {
  const { rows } = await database.pool.query(
    `select name, pg_total_relation_size(name::regclass) as bytes
     from unnest($1::text[]) as name
     union all
     select 'event_payloads', sum(pg_total_relation_size(inhrelid))
     from pg_inherits where inhparent = 'event_payloads'::regclass`,
    [TABLES],
  )
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]))
}

it('reuses the space of expired rows, so tables stop growing', async test => {
  const service = await startTestService(test)
  const measured: Record<string, number>[] = []
  for (let month = 0; month < 7; month += 1) {
    await storeMonth(service, month)
    service.clock.advance(MONTH_DAYS * 86_400)
    await expireAll(service)
    await vacuum(service)
    measured.push(await sizes(service))
  }
  const [early, late] = [measured[2], measured[6]] as [
    Record<string, number>,
    Record<string, number>,
  ]
  for (const [table, bytes] of Object.entries(late)) {
    // Without reuse, four more months would double the size.
    assert.ok(bytes <= (early[table] ?? 0) * 1.2, `${table}: ${early[table]} to ${bytes} bytes`)
  }
})
