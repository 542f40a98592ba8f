import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  EMAIL_IDENTITY,
  STRONG_IDENTITY,
  startMatchQualityFixture,
  WEAK_IDENTITY,
} from '../../../testing/fixtures/match-quality.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'

/** After this, earlier events are out of the platform's week, too. */
const WEEK_SECONDS = 7 * DAY_SECONDS + 3_600
const NO_PERMISSION = {
  edge: 'dataset_quality',
  respond: { status: 400, code: 100, message: '(#100) Permission Denied' },
}

it('stores the complete answer with our coverage and advice once per UTC day', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 15 })
  await place.send(EMAIL_IDENTITY, { count: 5 })
  assert.deepEqual(await place.take(), { taken: 1, unavailable: 0, more: false })
  place.clock.advance(11.9 * 3_600)
  assert.equal((await place.take()).taken, 0)
  const [snapshot, ...others] = await place.snapshots()
  assert.equal(others.length, 0)
  const { platform_response: answer, ...members } = snapshot
  assert.deepEqual(members, {
    id: 1,
    workspace_id: place.tracker.workspaceId,
    signal_tracker_id: place.tracker.trackerId,
    destination_id: place.tracker.destinationId,
    score: answer.web[0].event_match_quality.composite_score,
    week_over_week_change: null,
    alerted: true,
    measured_at: '2026-11-21T12:00:00.000Z',
    created_at: '2026-11-21T12:00:00.000Z',
    updated_at: '2026-11-21T12:00:00.000Z',
  })
  const { advice, ...ours } = answer.signalbox
  assert.deepEqual(ours, {
    from: '2026-11-15',
    until: '2026-11-21',
    coverage: [
      {
        event_name: 'Purchase',
        events: 20,
        keys: { client_ip_address: 100, client_user_agent: 100, em: 25 },
      },
    ],
  })
  assert.deepEqual([advice.length, advice[0].key, advice[0].kind], [1, 'em', 'send_more'])
  assert.ok(advice[0].possible_gain_percent > 0)
})

it('raises and resolves alerts as the shop adds and removes keys', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY)
  await place.take()
  place.clock.advance(WEEK_SECONDS)
  await place.send(STRONG_IDENTITY)
  await place.take()
  place.clock.advance(WEEK_SECONDS)
  await place.send(EMAIL_IDENTITY)
  await place.take()
  place.clock.advance(WEEK_SECONDS)
  await place.send(STRONG_IDENTITY)
  await place.take()

  const snapshots = await place.snapshots()
  const [recovered, fallen, good, weak] = snapshots.map(({ score }) => score)
  assert.equal(snapshots.length, 4)
  assert.ok(weak < 4 && good > weak + 2 && fallen <= good - 1 && recovered === good)
  const fall = tenths(good - fallen)
  assert.deepEqual(
    snapshots.map(({ week_over_week_change: change }) => change),
    [fall, -fall, tenths(good - weak), null],
  )
  assert.deepEqual(
    snapshots.map(({ alerted }) => alerted),
    [false, true, false, true],
  )
  assert.deepEqual(
    place.alertChanges.map(({ kind, transition }) => `${kind} ${transition}`),
    ['emq_low raised', 'emq_low resolved', 'emq_fell raised', 'emq_fell resolved'],
  )
  assert.match(
    place.alertChanges[2]?.sentence ?? '',
    /Fewer events have \w+ than a week ago, 0 % instead/,
  )
  const alerts = await place.rows('alerts')
  assert.deepEqual(
    alerts.map(({ id, resolved_at: at }) => [id, at !== null]),
    [
      [1, true],
      [2, true],
    ],
  )
})

it('stores nothing when the platform refuses and retries after an hour', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 1 })
  await scriptFaults(place.simulatorUrl, [NO_PERMISSION])
  assert.deepEqual(await place.take(), { taken: 0, unavailable: 1, more: false })
  assert.deepEqual(await place.take(), { taken: 0, unavailable: 0, more: false })
  assert.deepEqual(await place.snapshots(), [])
  assert.deepEqual(await place.rows('alerts'), [])
  const [reading] = place.unavailable
  assert.equal(reading?.cause, 'permission')
  const [{ unavailable_cause: cause, unavailable_sentence: sentence }] =
    await place.rows('emq_readings')
  assert.deepEqual({ cause, sentence }, { cause: 'permission', sentence: reading?.sentence })

  place.clock.advance(3_599)
  await scriptFaults(place.simulatorUrl, [])
  assert.equal((await place.take()).taken, 1)
  assert.equal(place.unavailable.length, 1)
  assert.equal((await place.rows('emq_readings'))[0].unavailable_cause, null)
})

it('waits as long as the platform requests', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 1 })
  const respond = { status: 429, code: 80004, headers: { 'retry-after': '7200' } }
  await scriptFaults(place.simulatorUrl, [{ edge: 'dataset_quality', times: 1, respond }])
  assert.equal((await place.take()).unavailable, 1)
  place.clock.advance(7_199)
  assert.deepEqual(await place.take(), { taken: 0, unavailable: 0, more: false })
  place.clock.advance(1)
  assert.equal((await place.take()).taken, 1)
})

it('omits an oversized answer and keeps our figures', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 1 })
  const web = [{ event_name: 'Purchase', event_match_quality: { composite_score: 6.25 } }]
  const body = JSON.stringify({ web, more: 'x'.repeat(510_000) })
  const respond = { status: 200, body, headers: { 'content-type': 'application/json' } }
  await scriptFaults(place.simulatorUrl, [{ edge: 'dataset_quality', respond }])
  assert.equal((await place.take()).taken, 1)
  const [{ score, platform_response: answer }] = await place.snapshots()
  assert.equal(score, 6.25)
  assert.deepEqual(Object.keys(answer), ['signalbox'])
  assert.equal(answer.signalbox.answer_left_out, true)
  assert.equal(answer.signalbox.coverage[0].event_name, 'Purchase')
})

it('stores no snapshot while the platform has no score', async test => {
  const place = await startMatchQualityFixture(test)
  await place.send(WEAK_IDENTITY, { count: 1 })
  const respond = { status: 200, body: '{"web":[{"event_name":"Purchase"}]}' }
  await scriptFaults(place.simulatorUrl, [{ edge: 'dataset_quality', respond }])
  assert.equal((await place.take()).unavailable, 1)
  assert.equal(place.unavailable[0]?.cause, 'no_score')
  assert.deepEqual(await place.snapshots(), [])
})

function tenths(value: number): number {
  return Math.round(value * 10) / 10
}
