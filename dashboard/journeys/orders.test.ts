import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { money, startGoogleShop } from '../../testing/fixtures/google-shop.ts'
import { openJourneyPage } from './journey-page.ts'

const HALF_HOUR = 1_860

it('shows the order of an event: its net value, its changes, and what platforms were told', async test => {
  const { service, buy, refund, turn } = await startGoogleShop(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  await buy()
  await turn()
  await turn(HALF_HOUR)
  await refund('refund-1', { value_data: money('20.50', '1001') })
  await refund('refund-2', { value_data: money('5', '1001', 'USD') })
  await turn()
  await turn(HALF_HOUR)

  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/events/order-1001`)
  const order = page.getByRole('region', { name: 'Order' })
  await order.getByText('100.00 EUR less refunds of 20.50 is 79.50.').waitFor()
  const text = await order.innerText()
  assert.match(text, /not subtracted: another currency/)
  assert.match(text, /Google Ads \d+\s+79\.50 EUR\s+The last value that the platform accepted/)
  assert.match(text, /Meta \d+\s+100\.00 EUR\s+This platform cannot change the value/)
  await assertAccessible()
  await order.getByRole('link', { name: 'Refund' }).first().click()
  await page.getByText('told a new value of the purchase order-1001: 79.50 EUR').waitFor()
})
