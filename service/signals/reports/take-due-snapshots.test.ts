import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  STRONG_IDENTITY,
  startMatchQualityFixture,
  WEAK_IDENTITY,
} from '../../../testing/fixtures/match-quality.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'

it('measures only destinations with accepted events, from 05:00 on', async test => {
  const place = await startMatchQualityFixture(test, '2026-11-21T04:59:59.999Z')
  await place.send(WEAK_IDENTITY, { count: 1 })
  assert.deepEqual(await place.take(), { taken: 0, unavailable: 0, more: false })
  await place.newTracker()
  place.clock.advance(0.001)
  assert.deepEqual(await place.take(), { taken: 1, unavailable: 0, more: false })
})

it('has no snapshot of a missed day', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 1 })
  await place.take()
  place.clock.advance(2 * DAY_SECONDS)
  assert.equal((await place.take()).taken, 1)
  assert.deepEqual(
    (await place.snapshots()).map(({ measured_at: at }) => at),
    ['2026-11-23T12:00:00.000Z', '2026-11-21T12:00:00.000Z'],
  )
})

it('takes one snapshot per destination when two processes run concurrently', async test => {
  const place = await startMatchQualityFixture(test)
  const other = await place.newTracker()
  await place.send(WEAK_IDENTITY, { count: 1 })
  await place.send(STRONG_IDENTITY, { count: 1, tracker: other })
  const runs = await Promise.all([place.take(), place.take(), place.take()])
  assert.equal(
    runs.reduce((sum, { taken }) => sum + taken, 0),
    2,
  )
  const [[first], [second]] = [await place.snapshots(), await place.snapshots(other)]
  assert.ok(first.score < second.score)
  assert.deepEqual([first.id, second.id], [1, 1])
  assert.equal(place.alertChanges.length, 1)
})

it('measures the other destinations when one fails, without losing or repeating its alert', async test => {
  const place = await startMatchQualityFixture(test)
  const [broken, sealed] = [place.tracker, await place.newTracker()]
  const fine = await place.newTracker()
  for (const tracker of [broken, sealed, fine])
    await place.send(WEAK_IDENTITY, { count: 1, tracker })
  await place.database.pool.query(
    `alter table emq_snapshots add constraint full_disk check (tracker_id <> '${broken.trackerId}')`,
  )
  await place.database.pool.query(
    `update destinations set sealed_credential = '' where tracker_id = $1`,
    [sealed.trackerId],
  )
  await assert.rejects(place.take(), (error: AggregateError) => error.errors.length === 1)
  assert.equal((await place.snapshots(fine)).length, 1)
  assert.deepEqual(
    place.unavailable.map(({ trackerId, cause }) => [trackerId, cause]),
    [[sealed.trackerId, 'credential_unreadable']],
  )

  await place.database.pool.query('alter table emq_snapshots drop constraint full_disk')
  place.clock.advance(3_600)
  assert.deepEqual(await place.take(), { taken: 1, unavailable: 1, more: false })
  assert.equal((await place.snapshots(broken))[0].alerted, true)
  const moves = place.alertChanges.filter(({ trackerId }) => trackerId === broken.trackerId)
  assert.equal(moves.length, 1)
})

it('resolves the alerts of a destination that no longer receives events', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 1 })
  await place.take()
  place.clock.advance(8 * DAY_SECONDS)
  assert.deepEqual(await place.take(), { taken: 0, unavailable: 0, more: false })
  assert.deepEqual(
    place.alertChanges.map(({ kind, transition }) => `${kind} ${transition}`),
    ['emq_low raised', 'emq_low resolved'],
  )
})

it('returns more when one run cannot measure all destinations', async test => {
  const place = await startMatchQualityFixture(test)
  await place.database.pool.query(
    `insert into destinations (tracker_id, id, type, credential_source, config, sealed_credential,
       status, created_at, updated_at)
     select $1, gen_random_uuid(), 'meta', 'oauth_connection', '{"dataset_id": "1"}', '',
       'active', $2, $2
     from generate_series(1, 101)`,
    [place.tracker.trackerId, place.clock.now()],
  )
  await place.database.pool.query(
    `insert into sent_counts
     select tracker_id, id, '2026-11-14', 'Lead', '2026-11-14', 0, 1, 0, 0
     from destinations where sealed_credential = ''`,
  )
  assert.deepEqual(await place.take(), { taken: 0, unavailable: 100, more: true })
  assert.deepEqual(await place.take(), { taken: 0, unavailable: 1, more: false })
})

it('stops when aborted and leaves the rest to the next run', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 1 })
  assert.deepEqual(await place.take(AbortSignal.abort()), { taken: 0, unavailable: 0, more: true })
  assert.equal((await place.take()).taken, 1)
})
