import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults, sendFromOtherSource } from '../../../testing/fixtures/simulator.ts'
import { refreshReports } from './make-reports.ts'

const DAY = '2026-11-21'

it('makes the report of a past day before it is due and repeatedly', async test => {
  const service = await startTestService(test)
  const { trackerId } = service.tracker
  await service.submit(samplePurchase())
  await service.deliver()
  service.clock.advance(12 * 3_600)
  const refresh = () => refreshReports(service.delivery, { trackerId, date: DAY })
  const made = { kind: 'made', made: 1, unavailable: 0 }
  assert.deepEqual(await refresh(), made)
  await sendFromOtherSource(service, {
    source: 'server',
    events: [{ event_name: 'Lead', event_time: Date.parse(`${DAY}T12:00:00Z`) / 1_000 }],
  })
  assert.deepEqual(await refresh(), made)
  const { body } = await service.request('GET', `/api/v1/reports/reconciliation?date=${DAY}`)
  const [report, ...others] = body.reports
  assert.deepEqual(others, [])
  assert.deepEqual([report.id, report.status, report.meta_count], [1, 'explained', 2])
})

it('returns that the platform gave no counts', async test => {
  const service = await startTestService(test)
  const { trackerId } = service.tracker
  await scriptFaults(service.simulatorUrl, [{ edge: 'stats', respond: { status: 500 } }])
  const refreshed = await refreshReports(service.delivery, { trackerId, date: '2026-11-20' })
  assert.deepEqual(refreshed, { kind: 'made', made: 0, unavailable: 1 })
})

it('rejects a day that has not ended and an invalid day', async test => {
  const service = await startTestService(test)
  const { trackerId } = service.tracker
  for (const date of [DAY, '2027-01-01', '2026-02-30', 'yesterday', '']) {
    const refreshed = await refreshReports(service.delivery, { trackerId, date })
    assert.deepEqual(refreshed, { kind: 'no_ended_day' }, date)
  }
})
