import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { connectSimulated } from '../../testing/fixtures/two-platforms.ts'
import { openJourneyPage } from './journey-page.ts'

const DAY_MILLISECONDS = 86_400_000

/** The pages ask for days of the browser's clock, so the service has the same one. */
async function openShop(test: Parameters<typeof startTestService>[0]) {
  const service = await startTestService(test)
  const seconds = Math.floor((Date.now() - service.clock.now().getTime()) / 1_000)
  service.clock.advance(seconds)
  const yesterday = new Date(Date.now() - DAY_MILLISECONDS).toISOString()
  const send = (id: string, changes: Record<string, unknown> = {}) =>
    service.submit(
      samplePurchase({
        event_id: id,
        consent: { ad_user_data: 'granted', captured_at: yesterday },
        ...changes,
      }),
    )
  return { service, yesterday, send }
}

it('answers whether yesterday reached each platform, and leads to each band', async test => {
  const { service, yesterday, send } = await openShop(test)
  await connectSimulated(service, 'webhook')
  const late = { event_time: yesterday }
  for (let order = 1; order <= 12; order += 1) await send(`order-${order}`, late)
  for (let lead = 1; lead <= 5; lead += 1) await send(`lead-${lead}`, { event_name: 'Lead' })
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 100, subcode: 1 } }])
  await send('refused-by-meta', late)
  await service.deliver()
  await send('held', { consent: { ad_user_data: 'perhaps' } })
  await send('not-valid', { event_time: 'soon' })
  await service.server.flushRefusals()

  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  const folder = process.env.SIGNALBOX_SCREENSHOTS
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 })
    await page.goto(`${service.url}/w/${tracker.workspaceId}`)
    await page.getByRole('group', { name: 'What happened to the events' }).waitFor()
    const answer = await page.getByRole('region', { name: 'Purchases of yesterday' }).innerText()
    assert.match(answer, /Meta .* accepted 12 of 13 purchases of yesterday \(239\.40 EUR\)\./)
    assert.match(answer, /1 failed: Refused by the platform\./)
    assert.match(answer, /Webhook .* accepted all of 13 purchases of yesterday/)
    assert.equal(await page.evaluate('document.body.scrollWidth <= innerWidth'), true)
    if (!folder) continue
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const path = `${folder}/overview-${width}-${colorScheme}.png`
      await page.screenshot({ path, fullPage: true })
    }
    await page.emulateMedia({ colorScheme: 'light' })
  }
  await assertAccessible()

  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByLabel('Destination', { exact: true }).selectOption({ index: 1 })
  await page.getByRole('link', { name: /^Purchase, Failed: 1$/ }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/events?**')
  await page.getByText('refused-by-meta').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 1)
})
