import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { findPlatformTarget, revokeToken } from '../../testing/fixtures/simulator.ts'
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
  const banner = page.getByText('Test mode is on')
  await banner.waitFor()
  await page.getByRole('button', { name: 'Send a test purchase' }).click()
  await page.getByText('The platform accepted the test purchase.').waitFor()
  await assertAccessible()

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
