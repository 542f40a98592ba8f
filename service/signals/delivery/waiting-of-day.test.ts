import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  DESTINATION_ID,
  ledgerEntry,
  plannedDelivery,
  STORED_AT,
  storeEntries,
  TRACKER_ID,
} from '../../../testing/fixtures/stored-events.ts'
import { countWaitingOfDay } from './backlog-store.ts'

const DAY = { from: new Date('2026-11-21T00:00:00Z'), until: new Date('2026-11-22T00:00:00Z') }

it('counts the waiting deliveries of a day and those that may have arrived', async test => {
  const { database } = await createTestDatabase(test)
  const yesterday = new Date(STORED_AT.getTime() - 86_400_000)
  const ahead = new Date(STORED_AT.getTime() + 86_400_000)
  const entries = [
    ledgerEntry({ eventId: 'a' }),
    ledgerEntry({ eventId: 'b', eventName: 'Lead' }),
    ledgerEntry({ eventId: 'c', eventName: 'Lead' }),
    ledgerEntry({ eventId: 'd', eventTime: yesterday }),
    // Its time is held at the time of its receipt.
    ledgerEntry({ eventId: 'e', eventTime: ahead }),
    ledgerEntry({ eventId: 'f' }),
    ledgerEntry({ eventId: 'g' }),
  ]
  const elsewhere = '0190bbbb-0000-7000-8000-000000000009'
  await storeEntries(
    database,
    entries,
    entries.map(({ eventId }, index) =>
      plannedDelivery({
        eventId,
        id: index + 1,
        ...(eventId === 'g' && { destinationId: elsewhere }),
      }),
    ),
  )
  const settle = (id: number, change: string) =>
    database.pool.query(`update delivery_queue set ${change} where id = $1`, [id])
  await settle(2, `status = 'sent', status_reason = 'handed_over'`)
  await settle(3, `status = 'retrying', status_reason = 'unknown'`)
  await settle(5, `status = 'retrying', status_reason = 'throttle'`)
  await database.pool.query('delete from delivery_queue where id = 6')
  const queue = { trackerId: TRACKER_ID, destinationId: DESTINATION_ID }
  assert.deepEqual(await countWaitingOfDay(database, { ...queue, ...DAY }), {
    names: [
      { eventName: 'Lead', waiting: 2, inFlight: 2 },
      { eventName: 'Purchase', waiting: 2, inFlight: 0 },
    ],
    isTruncated: false,
  })
})
