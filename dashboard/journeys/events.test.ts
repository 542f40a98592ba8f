import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { openJourneyPage } from './journey-page.ts'

const REFUSE_ALL = [{ respond: { status: 400, code: 100, subcode: 2_804_048 } }]

async function openEvents(test: TestContext, expectedStatuses: readonly number[] = []) {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const journey = await openJourneyPage(test, { service, person: owner, expectedStatuses })
  const open = () => journey.page.goto(`${service.url}/w/${tracker.workspaceId}/events`)
  return { service, open, ...journey }
}

it('finds by its ID why consent held an event back', async test => {
  const { service, open, page, assertAccessible } = await openEvents(test)
  await service.submit(samplePurchase({ consent: { ad_user_data: 'perhaps' } }))
  await open()
  await page.getByRole('link', { name: 'Purchase' }).waitFor()
  await assertAccessible()

  await page.getByLabel('Find an event by its ID').fill('order-1001')
  await page.keyboard.press('Enter')
  await page.getByText('but none of them could be read as granted').first().waitFor()
  const consent = page.getByRole('region', { name: 'Consent' })
  const row = consent.getByRole('row').filter({ hasText: 'consent.ad_user_data' })
  assert.match(await row.innerText(), /unknown\s+decided/)
  await assertAccessible()
  const shown = await page.locator('main').innerText()
  for (const value of ['Mozilla', 'visitor-1']) assert.equal(shown.includes(value), false)
})

it('finds what the platform refused, replays it, and sees it accepted', async test => {
  const { service, open, page, assertAccessible } = await openEvents(test)
  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  await service.submit(samplePurchase())
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [])
  await open()
  await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByLabel('Open a page or an event').fill('order-1001')
  await page.keyboard.press('Enter')
  await page.getByText('The platform rejected the event permanently').waitFor()
  await page.getByText('send it under a new event ID').waitFor()
  await page.getByText('Answer of the platform').first().click()
  await page.getByText('"error_subcode": 2804048').first().waitFor()
  await assertAccessible()

  await page.getByRole('button', { name: 'Replay' }).click()
  await page.getByText('1 queued to be sent again').waitFor()
  await page.getByRole('button', { name: 'Replay 1 delivery' }).click()
  await page.getByText('0 of 1 sent, 1 waiting').waitFor()
  await service.deliver()
  await page.getByText('1 of 1 sent').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('The platform accepted the event').waitFor()
})

it('replays an outage with the preview equal to the result', async test => {
  const { service, open, page, assertAccessible } = await openEvents(test)
  await scriptFaults(service.simulatorUrl, REFUSE_ALL)
  const old = { event_time: '2026-11-14T13:00:00Z' }
  for (let order = 1; order <= 8; order += 1) {
    const changes = order === 1 ? old : {}
    await service.submit(samplePurchase({ event_id: `order-${order}`, ...changes }))
  }
  await service.deliver()
  await scriptFaults(service.simulatorUrl, [])
  service.clock.advance(3_540)
  await open()
  await page.getByLabel('Status').selectOption('failed')
  await page.waitForURL('**/events?status=failed')
  await page.getByRole('button', { name: 'Replay all of them' }).click()
  const dialog = page.getByRole('dialog')
  const confirm = dialog.getByRole('button', { name: 'Replay 7 deliveries' })
  await confirm.waitFor()
  const preview = await dialog.getByRole('listitem').allInnerTexts()
  assert.equal(preview[1], '1 left out: too old for the platform')
  await assertAccessible()
  await confirm.click()
  await dialog.getByText('0 of 7 sent, 7 waiting').waitFor()
  assert.deepEqual(await dialog.getByRole('listitem').allInnerTexts(), preview)
  await service.deliver()
  await dialog.getByText('7 of 7 sent').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  const failed = page.getByRole('cell', { name: 'failed:permanent' })
  await failed.nth(1).waitFor({ state: 'detached' })
  assert.equal(await failed.count(), 1)
})

it('offers the refusals for an unknown ID, and says how to send the first event', async test => {
  const { open, page, assertAccessible } = await openEvents(test, [404])
  await open()
  await page.getByRole('heading', { name: 'No event yet' }).waitFor()
  await assertAccessible()
  await page.getByLabel('Find an event by its ID').fill('lost/1')
  await page.keyboard.press('Enter')
  const link = page.getByRole('link', { name: 'Look for it among the refusals' })
  assert.match((await link.getAttribute('href')) ?? '', /\/issues\?event_id=lost%2F1$/)
})
