import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { ledgerEntry, STORED_AT, storeEntries } from '../../../testing/fixtures/stored-events.ts'
import { ensurePartitions, readRetentionLag } from './partition-store.ts'

it('is 0 while no partition is due, then counts the days since the oldest was due', async test => {
  const { database } = await createTestDatabase(test)
  assert.deepEqual(
    await readRetentionLag(database, { payloads: '2026-11-21', ledger: '2026-11-21' }),
    {
      payloads: 0,
      ledger: 0,
    },
  )
  // A Saturday: its week ends with the 22nd.
  await ensurePartitions(database, STORED_AT, 1)
  const lagOn = (day: string) => readRetentionLag(database, { payloads: day, ledger: day })
  assert.deepEqual(await lagOn('2026-11-21'), { payloads: 0, ledger: 0 })
  assert.deepEqual(await lagOn('2026-11-22'), { payloads: 0, ledger: 0 })
  assert.deepEqual(await lagOn('2026-11-23'), { payloads: 1, ledger: 0 })
  assert.deepEqual(await lagOn('2026-11-30'), { payloads: 8, ledger: 7 })
})

it('counts payloads in the default partition', async test => {
  const { database } = await createTestDatabase(test)
  await storeEntries(database, [ledgerEntry()])
  const cutoffs = { payloads: '2026-11-25', ledger: '2026-11-25' }
  assert.deepEqual(await readRetentionLag(database, cutoffs), { payloads: 3, ledger: 0 })
})
