import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { findPlatformTarget, revokeToken, scriptFaults } from '../../testing/fixtures/simulator.ts'
import { connectSimulated } from '../../testing/fixtures/two-platforms.ts'
import { openJourneyPage } from './journey-page.ts'

it('finds the paused destination of a missing event, and sends it with a new token', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { accessToken } = await findPlatformTarget(service, tracker)
  await revokeToken(service.simulatorUrl, accessToken)
  await service.submit(samplePurchase())
  await service.deliver()
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}`)

  await page.getByRole('link', { name: 'Destinations' }).click()
  await page.getByText('The platform rejects the credential').waitFor()
  await page.getByText('1 event, the oldest from').waitFor()
  await assertAccessible()

  await page.getByRole('button', { name: 'Replace the credential' }).click()
  await page.getByRole('textbox', { name: 'Access token' }).fill('a-valid-token')
  await page.getByRole('button', { name: 'Replace', exact: true }).click()
  await page.getByText('Not used yet').first().waitFor()
  service.clock.advance(1)
  await service.deliver()
  await page.getByText('Accepted by the platform').waitFor()
  await page.getByText('Nothing', { exact: true }).waitFor()
  const { events } = await service.received()
  assert.equal(events.length, 1)
})

it('turns on test mode for a purchase, says so on every page, and lets it end by itself', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/destinations`)
  await page.getByRole('button', { name: 'Turn on test mode' }).click()
  await page.getByText(/Real orders and leads .+ do not count for Meta/).waitFor()
  await page.getByRole('button', { name: 'Turn it on' }).click()
  const banner = page.getByText('Test mode is on')
  await banner.waitFor()
  await page.getByRole('button', { name: 'Send a test purchase' }).click()
  await page.getByText('The platform accepted the test purchase.').waitFor()
  await assertAccessible()
  await scriptFaults(service.simulatorUrl, [{ respond: { status: 400, code: 100 } }])
  await page.getByRole('button', { name: 'Send a test purchase' }).click()
  await page.getByText(/^Code 100/).waitFor()
  await page.getByText('It was not accepted.').waitFor()

  await page.getByRole('link', { name: 'Start' }).click()
  await page.getByRole('heading', { name: 'Start', level: 1 }).waitFor()
  await banner.waitFor()
  await page.getByRole('link', { name: 'Open the destination' }).click()

  service.clock.advance(86_400)
  await page.getByRole('button', { name: 'Turn on test mode' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Turn on test mode' }).waitFor()
  assert.equal(await banner.count(), 0)
})

it('renames and pauses a destination, and sends what waited when it is resumed', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const journey = { service, person: owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, journey)
  await page.goto(`${service.url}/w/${tracker.workspaceId}/destinations`)
  await page.getByRole('button', { name: /^Rename Meta/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('see www.shop.example')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await dialog.getByText('without links').waitFor()
  await dialog.getByLabel('Name').fill('Main dataset')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { name: 'Main dataset' }).waitFor()

  await page.getByRole('button', { name: 'Pause Main dataset' }).click()
  await dialog.getByText('until a person resumes it').waitFor()
  await dialog.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('A person paused it.').waitFor()
  await service.submit(samplePurchase({ event_id: 'waited' }))
  await service.deliver()
  await page.getByText('1 event, the oldest from').waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: 'Resume Main dataset' }).click()
  await page.getByRole('button', { name: 'Pause Main dataset' }).waitFor()
  await service.deliver()
  await page.getByText('Nothing', { exact: true }).waitFor()
  assert.equal((await service.received()).events.length, 1)
})

it('chooses the events of a destination after a preview of the last ones', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  await service.submit(samplePurchase({ event_id: 'order-1', event_name: 'Order Completed' }))
  await service.submit(samplePurchase({ event_id: 'lead-1', event_name: 'Lead' }))
  const journey = { service, person: owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, journey)
  await page.goto(`${service.url}/w/${tracker.workspaceId}/destinations`)
  await page.getByText('All events', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Choose events' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Event names').fill('Order Completed\nSignup')
  await dialog.getByLabel('Value at least').fill('5')
  await dialog.getByRole('button', { name: 'Preview' }).click()
  await dialog.getByText('The filter.minimum_value.currency field is required.').waitFor()
  await dialog.getByLabel('Value at least').fill('')
  await dialog.getByRole('button', { name: 'Map a name' }).click()
  await dialog.getByLabel('Event name 1').fill('Order Completed')
  await dialog.getByLabel('Name at Meta 1').fill('Purchase')
  await dialog.getByRole('button', { name: 'Preview' }).click()
  await dialog.getByText('1 of the last 2 events would be sent').waitFor()
  await dialog.getByText('Event name not selected: 1').waitFor()
  await dialog.getByText('None of these events has the name Signup.').waitFor()
  await assertAccessible()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Selected by names: Order Completed, Signup; 1 name is mapped').waitFor()

  await service.submit(samplePurchase({ event_id: 'order-2', event_name: 'Order Completed' }))
  await service.submit(samplePurchase({ event_id: 'lead-2', event_name: 'Lead' }))
  await service.deliver()
  const { events } = await service.received()
  assert.deepEqual(events.map(({ event_id, event_name }) => [event_id, event_name]).sort(), [
    ['lead-1', 'Lead'],
    ['order-1', 'Order Completed'],
    ['order-2', 'Purchase'],
  ])
})

it('compares what each of several platforms got of an event, and folds their details', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  for (const name of ['google_ads', 'webhook', 'pinterest']) await connectSimulated(service, name)
  const consent = { advertising: 'granted', Pinterest: false }
  await service.submit(samplePurchase({ event_id: 'order-1', consent }))
  await service.deliver()
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/events/order-1`)
  const compared = page.locator('.compared > li')
  await compared.filter({ hasText: 'Pinterest' }).getByText('consent.Pinterest refuses').waitFor()
  const texts = await compared.allInnerTexts()
  const expected = [
    /^Meta \d+\s+accepted/,
    /^Google Ads \d+\s+skipped:not_selected/,
    /^Webhook https\S+\s+accepted/,
    /^Pinterest \d+\s+skipped:consent/,
  ]
  assert.equal(texts.length, expected.length)
  for (const pattern of expected)
    assert.ok(
      texts.some(text => pattern.test(text)),
      `${pattern}`,
    )
  await assertAccessible()

  await page.getByRole('link', { name: 'Destinations' }).click()
  await page.getByText('All events; Conversion actions: none yet').waitFor()
  await assertAccessible()
  assert.equal(await page.getByRole('button', { name: 'Choose events' }).count(), 0)
  await page.getByRole('button', { name: 'Details of Google Ads' }).click()
  await page.getByRole('button', { name: 'Choose events' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Conversion actions of Google Ads').waitFor()
  await dialog.getByText('The number of the conversion action in Google Ads').waitFor()
})
