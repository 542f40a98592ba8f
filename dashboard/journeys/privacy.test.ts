import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { withdrawOnPage } from '../../testing/fixtures/page-withdrawals.ts'
import { SHOP_ORIGIN, samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { addMember, createTestUser } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

it('erases a person by a phone number that never leaves the browser', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  await service.submit(samplePurchase({ event_id: 'hers', user_data: { ph: '+4930901820' } }))
  await service.submit(samplePurchase({ event_id: 'his', user_data: { ph: '+4930901821' } }))
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  const sent: string[] = []
  page.on('request', request => sent.push(`${request.url()} ${request.postData() ?? ''}`))
  await page.goto(`${service.url}/w/${tracker.workspaceId}/privacy`)
  await page.getByRole('heading', { name: 'No receipts yet' }).waitFor()

  await page.getByLabel('What you have').selectOption('phone')
  await page.getByLabel('Identifier').fill('(030) 90 18 20')
  await page.getByRole('button', { name: 'Compute the digest' }).click()
  await page.getByText('Enter the whole number with its country code').waitFor()
  await page.getByLabel('Country of a number without +').fill('de')
  await page.getByRole('button', { name: 'Compute the digest' }).click()
  await page.getByText('SHA-256 of 4930901820').waitFor()
  await page.getByRole('button', { name: 'Erase this person…' }).click()
  const dialog = page.getByRole('dialog')
  const erase = dialog.getByRole('button', { name: 'Erase', exact: true })
  assert.equal(await erase.isDisabled(), true)
  await dialog.getByLabel('Type ERASE to confirm').fill('ERASE')
  await assertAccessible()
  await erase.click()
  await dialog.getByText('1 event lost their identity').waitFor()
  // One receipt for each digest of the number.
  const [receipt = ''] = (await dialog.locator('pre').innerText()).split('\n')
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: receipt }).waitFor()
  await assertAccessible()

  assert.equal((await service.read('hers')).body.event.payload_expired, true)
  assert.equal((await service.read('his')).body.event.payload_expired, false)
  assert.ok(sent.some(text => text.includes('identifier_hash')))
  for (const text of sent) assert.doesNotMatch(decodeURIComponent(text), /90\D?18\D?20/)
})

it('shows a member the receipts, and nothing to erase with', async test => {
  const service = await startTestService(test)
  const { tracker } = await openDashboardWorkspace(service)

  const member = await createTestUser(service)
  const { workspaceId } = tracker
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  const { page } = await openJourneyPage(test, { service, person: member })
  await page.goto(`${service.url}/w/${workspaceId}/privacy`)
  await page.getByText('Owners and admins can erase a person').waitFor()
  assert.equal(await page.getByLabel('Identifier').count(), 0)
})

it('lifts the withdrawal of a page, and its purchase is sent', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const visitor_id = '0d5b2c1e-6f0a-4f4e-9d53-1d6f2f7c8a90'
  await service.request('POST', '/api/v1/events', {
    secret: tracker.publishableKey,
    headers: { origin: SHOP_ORIGIN },
    body: {
      event_id: 'forged',
      event_name: 'consent_withdrawal',
      consent_basis: 'legitimate_interest',
      visitor_id,
    },
  })
  await service.submit(samplePurchase({ event_id: 'order-1', visitor_id }))
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/privacy`)
  await page.getByLabel(`Select the withdrawal of ${visitor_id}`).check()
  await assertAccessible()
  await page.getByRole('button', { name: 'Lift 1 selected…' }).click()
  const dialog = page.getByRole('dialog')
  const lift = dialog.getByRole('button', { name: 'Lift', exact: true })
  assert.equal(await lift.isDisabled(), true)
  await dialog.getByLabel('Reason').fill('Sent by a script.')
  await assertAccessible()
  await lift.click()
  await dialog.getByText('1 withdrawal lifted. 1 delivery is sent now.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Sent by a script.').waitFor()
  await service.deliver()
  assert.equal((await service.read('order-1')).body.deliveries[0].status, 'accepted')
})

it('counts on Issues who withdrew under a guessable ID, and leads to the list', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  const issues = `${service.url}/w/${tracker.workspaceId}/issues`
  await page.goto(issues)
  await page.getByText('No delivery went wrong').waitFor()
  assert.equal(await page.getByRole('region', { name: 'Withdrawals from pages' }).count(), 0)
  for (const visitor_id of ['customer-9', 'customer-10']) {
    assert.equal((await withdrawOnPage(service, { visitor_id })).status, 202)
  }
  await page.goto(issues)
  const part = page.getByRole('region', { name: 'Withdrawals from pages' })
  await part.getByText('2 visitors withdrew on a page under an ID that others may guess').waitFor()
  await assertAccessible()
  await part.getByRole('link', { name: 'See the withdrawals from pages' }).click()
  await page.getByRole('cell', { name: 'customer-9', exact: true }).waitFor()
  assert.match(page.url(), /\/privacy/)
})
