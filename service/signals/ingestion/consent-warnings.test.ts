import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const MISSING =
  'consent.captured_at is missing: say when consent was captured, since the event carries identity.'
const INVALID =
  'consent.captured_at is not an RFC 3339 date-time with Z or an offset, like 2026-05-04T12:30:00Z.'
const AHEAD = 'consent.captured_at is over 5 minutes in the future.'
const AFTER_EVENT =
  'consent.captured_at is later than the event: consent must come before the event it covers.'
const OLD = 'consent.captured_at is older than 180 days: ask again soon.'

it('returns 202 with a warning for each problem of captured_at and still delivers', async test => {
  const service = await startTestService(test)
  for (const [captured_at, messages] of [
    ['2026-11-21T12:05:00Z', []],
    ['2026-11-21T12:05:01Z', [AHEAD]],
    [undefined, [MISSING]],
    [null, [MISSING]],
    ['yesterday', [INVALID]],
    [1_795_258_800, [INVALID]],
    ['2026-11-21', [INVALID]],
    ['2026-02-30T10:00:00Z', [INVALID]],
    ['2026-05-25T12:00:00Z', []],
    ['2026-05-25T11:59:59Z', [OLD]],
  ] as const) {
    const event_id = `captured-${captured_at}`
    const consent = { ad_user_data: 'granted', captured_at }
    const reply = await service.submit(samplePurchase({ event_id, consent }))
    assert.equal(reply.status, 202)
    assert.equal(reply.body.duplicate, false)
    assert.deepEqual(reply.body.warnings, messages.map(warning))
    assert.equal((await service.read(event_id)).body.deliveries[0].status, 'queued')
  }
})

it('returns 202 with a warning for consent captured after the event, and for old consent', async test => {
  const service = await startTestService(test)
  const consent = { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z' }
  const early = { consent, event_time: '2026-11-21T10:00:00Z' }
  const reply = await service.submit(samplePurchase(early))
  assert.deepEqual(reply.body.warnings, [AFTER_EVENT].map(warning))
  const both = {
    event_id: 'both',
    consent: { ad_user_data: 'granted', captured_at: '2026-01-01T00:00:00Z' },
    event_time: '2025-12-01T00:00:00Z',
  }
  const old = await service.submit(samplePurchase(both))
  assert.equal(old.status, 202)
  assert.deepEqual(old.body.warnings, [AFTER_EVENT, OLD].map(warning))
})

it('returns 202 without a captured_at warning for an event without identity', async test => {
  const service = await startTestService(test)
  const anonymous = { consent: { ad_user_data: 'granted' }, user_data: { em: '' } }
  assert.deepEqual((await service.submit(samplePurchase(anonymous))).body.warnings, [])
})

it('returns 200 without warnings for a duplicate', async test => {
  const service = await startTestService(test)
  const doubtful = samplePurchase({ consent: { ad_user_data: 'granted' } })
  assert.equal((await service.submit(doubtful)).body.warnings.length, 1)
  const reply = await service.submit(doubtful)
  assert.deepEqual(reply.body, { event_id: 'order-1001', duplicate: true })
})

function warning(message: string) {
  return { code: 'consent_captured_at_invalid', field: 'consent.captured_at', message }
}
