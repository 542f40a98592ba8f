import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startSecondService } from '../../testing/fixtures/second-process.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { openJourneyPage } from './journey-page.ts'

it('follows events over a restart of the service, without a gap or a double', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, {
    service,
    person: owner,
    stopsService: true,
  })
  const submit = async (from: number, until: number) => {
    for (let order = from; order <= until; order += 1) {
      service.clock.advance(1)
      const event_id = `order-${order}`
      assert.equal((await service.submit(samplePurchase({ event_id }))).status, 202)
    }
  }
  const shownIds = () => page.locator('tbody .code').filter({ hasText: 'order-' }).allInnerTexts()
  const idsUntil = (last: number) => Array.from({ length: last }, (_, i) => `order-${last - i}`)
  const showsUntil = (last: number) =>
    waitUntil(`order-${last} is shown`, async () => (await shownIds()).includes(`order-${last}`))

  await submit(1, 2)
  await page.goto(`${service.url}/w/${tracker.workspaceId}/events`)
  await page.getByRole('switch', { name: 'Live' }).click()
  await showsUntil(2)
  await submit(3, 4)
  await showsUntil(4)
  await assertAccessible()

  await page.getByRole('button', { name: 'Pause' }).click()
  await submit(5, 5)
  await page.getByRole('button', { name: 'Show 1 new event' }).waitFor()
  assert.deepEqual(await shownIds(), idsUntil(4))
  await page.getByRole('button', { name: 'Resume' }).click()
  await showsUntil(5)

  await service.server.close()
  await page.getByText('Reconnecting').waitFor()
  const port = Number(new URL(service.url).port)
  await startSecondService(test, service, { port })
  await submit(6, 20)
  await showsUntil(20)
  assert.deepEqual(await shownIds(), idsUntil(20))

  await page.locator('tbody tr').last().scrollIntoViewIfNeeded()
  await page.mouse.wheel(0, 10_000)
  await submit(21, 22)
  await page.getByRole('button', { name: 'Show 2 new events' }).click()
  await showsUntil(22)
  assert.deepEqual(await shownIds(), idsUntil(22))

  await page.getByRole('switch', { name: 'Live' }).click()
  await page.waitForURL(`**/w/${tracker.workspaceId}/events`)
  await showsUntil(22)
  assert.deepEqual(await shownIds(), idsUntil(22))
})
