import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { createTestWorkspace } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

it('leads from an empty workspace to the first event that the platform accepted', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${workspaceId}/destinations`)
  await page.getByRole('link', { name: 'Create a tracker' }).click()
  await page.getByRole('button', { name: 'Create a tracker' }).waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: 'Create a tracker' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Shop EU')
  await page.getByRole('button', { name: 'Create the tracker' }).click()
  const line = await page.getByText('export SIGNALBOX_TOKEN=').innerText()
  const [, secret = ''] = line.split('=')
  await page.getByText('1 of 6 steps are done.').waitFor()
  await page.getByRole('button', { name: 'I have stored the keys' }).click()

  await service.request('POST', '/api/v1/verification-events', { secret })
  await page.getByText('2 of 6 steps are done.').waitFor()
  await assertAccessible()

  await page.getByRole('link', { name: 'Connect a destination' }).click()
  await page.getByRole('button', { name: 'Connect a destination' }).click()
  await page.getByRole('textbox', { name: 'Dataset ID' }).fill('1234567890')
  await page.getByRole('textbox', { name: 'Access token' }).fill('a-valid-token')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('button', { name: 'Turn on test mode' }).click()
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.getByRole('button', { name: 'Send a test purchase' }).click()
  await page.getByText('The platform accepted the test purchase.').waitFor()
  await page.getByRole('button', { name: 'Turn off test mode' }).click()
  await page.getByRole('button', { name: 'Turn on test mode' }).waitFor()

  await page.getByRole('link', { name: 'Start' }).click()
  await page.getByText('4 of 6 steps are done.').waitFor()
  await service.request('POST', '/api/v1/events', { secret, body: samplePurchase() })
  await service.deliver()
  await page.getByText('Everything works').waitFor()
})

it('shows in the playground what production would decide about an event', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, {
    service,
    person: owner,
    expectedStatuses: [400, 422],
  })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/start`)
  const validate = page.getByRole('button', { name: 'Validate' })
  await validate.click()
  await page.getByText('The event is valid.').waitFor()

  await page.getByText('The same in your code').click()
  await page.getByRole('tab', { name: 'Python' }).click()
  await page.getByText('signalbox.sandbox.create_key()').waitFor()
  await assertAccessible()

  await page.getByLabel('Example').selectOption('A purchase without a currency')
  await validate.click()
  await page.getByText('value_data.currency').first().waitFor()
  assert.equal(await page.getByText('The event is valid.').count(), 0)
  await page.getByRole('textbox', { name: 'Event' }).fill('{')
  assert.deepEqual(await page.getByRole('tab').allInnerTexts(), ['curl'])
  await validate.click()
  await page.getByRole('alert').waitFor()
})
