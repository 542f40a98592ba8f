import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { expireOldEvents } from './expire-events.ts'

/** Twenty-five months later: December 1, 2026 is the first day to keep. */
const NOW = '2029-01-01T12:00:00.000Z'

async function expire({ database, clock }: TestService) {
  const { reports, more } = await expireOldEvents({ database, now: clock.now(), ledgerMonths: 25 })
  return { reports, more }
}

it('deletes old reports, snapshots, sent counts and resolved alerts, and keeps receipts', async test => {
  const service = await startTestService(test, { startAt: NOW })
  const { trackerId, destinationId } = service.tracker
  const { pool } = service.database
  for (const [id, day] of ['2026-11-30', '2026-12-01'].entries()) {
    const values = [trackerId, destinationId, day, id]
    const insert = (text: string) => pool.query(text, values)
    await insert(`insert into reconciliation_reports values
      ($1, $4::integer, $2, $3::date, 0, 0, '{}', '{}', 0, 'complete', $3::date, $3::date,
       $3::date)`)
    await insert(`insert into emq_snapshots values
      ($1, $4::integer, $2, $3::date, 6.5, null, false, null, $3::date, $3::date, $3::date)`)
    await insert(`insert into sent_counts values
      ($1, $2, $3::date, 'Purchase', $3::date, $4::integer, 1, 0, 0)`)
    await insert(`insert into sent_key_counts values
      ($1, $2, $3::date, 'Purchase', 'em', $4::integer, 1)`)
    await insert(`insert into alerts values
      ($1, $4::integer, $2, 'score', 'Look.', '{}', $3::date, $3::date)`)
    await insert(`insert into deletion_requests values
      ($1, decode(lpad($4::integer::text, 2, '0'), 'hex'),
       'del_' || $2::text || $4::integer::text, 1, 0, 0, $3::date, $3::date)`)
  }
  await pool.query(
    `insert into alerts values ($1, 9, $2, 'other', 'Look.', '{}', '2026-01-01', null)`,
    [trackerId, destinationId],
  )
  assert.deepEqual(await expire(service), { reports: 5, more: false })
  const countRows = async (table: string) =>
    (await pool.query(`select count(*) as count from ${table}`)).rows[0].count
  for (const table of ['reconciliation_reports', 'emq_snapshots', 'sent_counts']) {
    assert.equal(await countRows(table), 1, table)
  }
  assert.deepEqual([await countRows('alerts'), await countRows('deletion_requests')], [2, 2])
  assert.deepEqual(await expire(service), { reports: 0, more: false })
})
