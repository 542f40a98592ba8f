import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { makeDueReports } from '../../service/signals/reports/make-reports.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import {
  EMAIL_IDENTITY,
  startMatchQualityFixture,
  WEAK_IDENTITY,
} from '../../testing/fixtures/match-quality.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { sendFromOtherSource } from '../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { openJourneyPage } from './journey-page.ts'

const UNTIL_REPORT_SECONDS = 18 * 3_600
const DAY_SECONDS = 86_400

it("explains yesterday's gap, and downloads it", async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  for (const event_id of ['order-1', 'order-2']) await service.submit(samplePurchase({ event_id }))
  await service.deliver()
  const others = { source: 'server', events: [{ event_name: 'Search', count: 4 }] } as const
  await sendFromOtherSource(service, { ...others, events: [...others.events] })
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/reports`)
  await page.getByRole('heading', { name: 'No reports in these days' }).waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: "Make yesterday's report" }).waitFor()

  service.clock.advance(UNTIL_REPORT_SECONDS)
  await makeDueReports(service.delivery, { now: service.clock.now() })
  await page.reload()
  await page.getByText('the platform counted 4 events more than it accepted from us').waitFor()
  await page.getByText('Other senders: -4').waitFor()
  const names = page.getByRole('table', { name: 'By event and destination' })
  const rows = await names.getByRole('row').allInnerTexts()
  const untold = 'Not told by the platform'
  assert.match(rows[1] ?? '', /^Meta \d+$/)
  assert.match(rows[3] ?? '', new RegExp(`^Purchase\\s+2\\s+2\\s+0\\s+39.90 EUR\\s+${untold}$`))
  assert.match(rows[4] ?? '', new RegExp(`^All events\\s+2\\s+6\\s+-4\\s+39.90 EUR\\s+${untold}$`))
  await page.getByRole('button', { name: 'Compare again' }).click()
  await waitUntil('the report was made again', async () => {
    const { rows: made } = await service.database.pool.query(
      `select 1 from audit_entries where action = 'report.made'`,
    )
    return made.length === 1
  })
  await page.locator('.recharts-bar-rectangle').first().waitFor({ state: 'attached' })
  await assertAccessible()
  await page.setViewportSize({ width: 375, height: 900 })
  const hiddenPixels = `(() => {
    const { clientWidth, scrollWidth } = document.querySelector('[aria-label=Days]').parentElement
    return scrollWidth - clientWidth
  })()`
  await waitUntil('the days do not scroll sideways on a phone', async () => {
    return (await page.evaluate(hiddenPixels)) === 0
  })

  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download CSV' }).click()
  const csv = readFileSync(await (await downloading).path(), 'utf8')
  assert.match(csv, /\r\n2026-11-21,[0-9a-f-]{36},explained,2,6,-4,0,0,0,0,0,-4,0,/)
})

it('shows the trend of the match quality, and what to add', async test => {
  const service = await startMatchQualityFixture(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  await service.send(EMAIL_IDENTITY)
  await service.take()
  service.clock.advance(DAY_SECONDS)
  await service.send(WEAK_IDENTITY)
  await service.take()
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/reports`)
  await page.getByRole('tab', { name: 'Match quality' }).click()
  await page.waitForURL('**/reports?report=match-quality')
  const advice = page.getByRole('region', { name: 'What to add' })
  await advice.getByText(/^Purchase: 50 % of 40 events have no em: send/).waitFor()
  const scores = page.getByRole('table', { name: 'Scores' })
  assert.equal(await scores.getByRole('row').count(), 3)
  const coverage = page.getByRole('table', { name: 'Coverage' })
  assert.match(await coverage.getByRole('row').nth(1).innerText(), /^Purchase\s+40\s/)
  await assertAccessible()
})
