import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { finishDeliveries } from '../../../testing/fixtures/deliveries.ts'
import {
  ledgerEntry,
  plannedDelivery,
  storeEntries,
} from '../../../testing/fixtures/stored-events.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'

const MIGRATION = join(import.meta.dirname, '../../migrations/0007-sent-counts.sql')

it('0007 counts deliveries accepted in the previous days, none older or undecided', async test => {
  const { database } = await createTestDatabase(test)
  const { pool } = database
  const eventIds = ['a', 'b', 'c', 'd', 'e']
  await storeEntries(
    database,
    eventIds.map(eventId => ledgerEntry({ eventId })),
    eventIds.map((eventId, index) =>
      plannedDelivery({ eventId, id: index + 1, isTest: eventId === 'c' }),
    ),
  )
  // The migration reads the clock of the store, which no test can set.
  const accept = (ids: readonly string[], daysAgo: number) =>
    finishDeliveries(database, ids, {
      status: 'accepted',
      updatedAt: new Date(Date.now() - daysAgo * DAY_MILLISECONDS),
    })
  await accept(['a', 'b', 'c'], 2)
  await accept(['d'], 20)
  const [backfill] = readFileSync(MIGRATION, 'utf8').match(/^insert into sent_counts$.*?;/ms) ?? []
  assert.ok(backfill)
  await pool.query(backfill)
  const { rows } = await pool.query(
    `select event_name, event_on, slot, accepted, test, unknown,
       sent_on = (now() at time zone 'UTC')::date - 2 as is_of_its_day
     from sent_counts`,
  )
  assert.deepEqual(rows, [
    {
      event_name: 'Purchase',
      event_on: '2026-11-21',
      slot: 0,
      accepted: 2,
      test: 1,
      unknown: 0,
      is_of_its_day: true,
    },
  ])
})
