import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { expireCounts, expireOldEvents } from './expire-events.ts'

it('deletes resolved issues after a month, and imports and mutes with the events of their time', async test => {
  const service = await startTestService(test)
  const { database, clock, tracker } = service
  await database.pool.query(
    `insert into signalbox_store.issue_states (tracker_id, issue_key, state, changed_at)
     values ($1, '["a"]', 'resolved', $2), ($1, '["b"]', 'muted', $2)`,
    [tracker.trackerId, clock.now()],
  )
  await database.pool.query(
    `insert into signalbox_store.imports (tracker_id, created_at, id, file_name, file_digest)
     values ($1, $2, gen_random_uuid(), 'orders.csv', 'x')`,
    [tracker.trackerId, clock.now()],
  )
  const left = async () => {
    const { rows } = await database.pool.query(
      `select state as what from signalbox_store.issue_states
       union all select file_name from signalbox_store.imports order by what`,
    )
    return rows.map(({ what }) => what)
  }
  const expire = async () => {
    const now = clock.now()
    await expireCounts({ database, now })
    return (await expireOldEvents({ database, now, ledgerMonths: 25 })).reports
  }
  clock.advance(31 * DAY_SECONDS - 1)
  await expire()
  assert.deepEqual(await left(), ['muted', 'orders.csv', 'resolved'])
  clock.advance(2)
  await expire()
  assert.deepEqual(await left(), ['muted', 'orders.csv'])
  // Of 21 November 2026; kept through 21 December 2028.
  clock.advance((Date.parse('2028-12-21T23:00:00Z') - clock.now().getTime()) / 1_000)
  assert.equal(await expire(), 0)
  clock.advance(DAY_SECONDS)
  assert.equal(await expire(), 2)
  assert.deepEqual(await left(), [])
})
