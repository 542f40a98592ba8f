import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { openJourneyPage } from './journey-page.ts'

const NOW = new Date().toISOString()

it('finds why an event is missing that was refused, in three actions', async test => {
  const service = await startTestService(test, { startAt: NOW })
  const { owner, tracker } = await openDashboardWorkspace(service)
  await service.submit(samplePurchase({ event_id: 'order-1' }))
  const refused = await service.submit({
    ...samplePurchase({ event_id: 'order-2' }),
    event_time: Date.now(),
  })
  await service.server.flushRefusals()
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}`)
  const refusedBand = page.getByRole('link', { name: 'Refused: 1 request', exact: true })
  await refusedBand.waitFor()
  await assertAccessible()

  await refusedBand.press('Enter')
  await page.getByLabel('Find a refused event by its ID').fill('order-2')
  await page.keyboard.press('Enter')
  const found = page.getByRole('region', { name: 'Refusals of order-2' })
  await found.getByRole('heading', { name: 'The event time is in milliseconds' }).waitFor()
  await found.getByText(refused.headers.get('request-id') ?? '').waitFor()
  assert.match(page.url(), /[?&]event_id=order-2(&|$)/)
  await assertAccessible()

  await found
    .getByText('The event_time field looks like milliseconds; send Unix seconds.')
    .waitFor()
  await found.getByText('9999999999999').waitFor()
  const all = page.getByRole('region', { name: 'Refused events', exact: true })
  await all.getByRole('button', { name: /^Resolve:/ }).click()
  await all.getByText('Resolved (1)').click()
  await all.getByRole('button', { name: /^Open again:/ }).waitFor()
  await service.submit({ ...samplePurchase(), event_time: Date.now() })
  await service.server.flushRefusals()
  await page.reload()

  await page.getByLabel('Find a refused event by its ID').fill('order-3')
  await page.keyboard.press('Enter')
  await page.getByText('No refused request is known with this ID').waitFor()
})

it('shows every page of an empty tracker and of one with failures by cause', async test => {
  const service = await startTestService(test, { startAt: NOW })
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  const url = `${service.url}/w/${tracker.workspaceId}`
  await page.goto(url)
  await page.getByRole('heading', { name: 'No event yet' }).waitFor()
  await assertAccessible()
  await page.goto(`${url}/issues`)
  await page.getByRole('heading', { name: 'No delivery went wrong' }).waitFor()
  await assertAccessible()

  await scriptFaults(service.simulatorUrl, [
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_048 } },
  ])
  await service.submit(samplePurchase({ event_id: 'order-4' }))
  await service.deliver()
  await page.goto(url)
  await page.getByRole('link', { name: 'Purchase, Failed: 1', exact: true }).press('Enter')
  await page.getByRole('link', { name: 'Purchase', exact: true }).waitFor()
  await page.getByText('order-4').waitFor()
  await page.goto(`${url}/issues`)
  await page.getByRole('heading', { name: /refused the content/ }).waitFor()
  await page.getByText('code 100, subcode 2804048').waitFor()
  await page.getByRole('link', { name: 'order-4' }).waitFor()
  await assertAccessible()
  await page.getByText('19.95 EUR at stake, in 1 event.').waitFor()
  await page.getByRole('button', { name: 'When to alert' }).click()
  await page.getByLabel('Match quality below').fill('5.5')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'When to alert' }).click()
  assert.equal(await page.getByLabel('Match quality below').inputValue(), '5.5')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.getByText('1 queued to be sent again').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByLabel('Period').selectOption('1')
  await page.waitForURL(/[?&]days=1(&|$)/)
})
