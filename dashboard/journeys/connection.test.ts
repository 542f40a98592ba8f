import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Locator } from 'playwright-core'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startSecondService } from '../../testing/fixtures/second-process.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'
import { openJourneyPage } from './journey-page.ts'

it('keeps its frame while the service is away, and goes on by itself', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, {
    service,
    person: owner,
    stopsService: true,
    expectedStatuses: [401],
  })
  const heading = (name: string) => page.getByRole('heading', { name, level: 1 })
  const entry = (name: string) => page.getByRole('navigation').getByRole('link', { name })
  const away = page.getByText('Signalbox does not answer', { exact: true })

  // A slow answer: the frame and the outline of the page come first.
  const { promise: isOutlined, resolve: letThrough } = Promise.withResolvers<void>()
  await page.route(/\/browser\/.*\/issues/, async route => {
    await isOutlined
    await route.continue()
  })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/issues`)
  await page.getByLabel('Loading').first().waitFor()
  await entry('Events').waitFor()
  letThrough()
  await page.getByText('No delivery went wrong').waitFor()

  // A page that has not been opened yet: its script and its data are missing.
  await service.server.close()
  await entry('Keys').click()
  await away.waitFor()
  await entry('Events').waitFor()
  await assertAccessible()

  const port = Number(new URL(service.url).port)
  await startSecondService(test, service, { port })
  await heading('Keys').waitFor()
  await away.waitFor({ state: 'hidden' })

  // A session that has ended leads to the sign-in, which knows the way back. A request of the
  // recovery that is still open would lead there first, from the page of keys.
  await page.waitForLoadState('networkidle')
  await page.context().clearCookies()
  await entry('Privacy').click()
  await page.getByLabel('Email').waitFor()
  assert.match(decodeURIComponent(page.url()), /\/w\/\d+\/privacy$/)
})

it('says how old lists are while a replica is behind', async test => {
  const { database } = await createTestDatabase(test)
  let ageSeconds = 12
  const service = await startTestService(test, {
    readDatabase: {
      ownWriteSeconds: 11,
      read: async work => ({ value: await work(database), ageSeconds }),
    },
  })
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/issues`)
  const notice = page.getByText('Lists and reports are a little old', { exact: true })
  await notice.waitFor()
  await page.getByText('What happened in the last 12 seconds may be missing').waitFor()
  await assertAccessible()
  ageSeconds = 1
  await page.reload()
  await page.getByText('No delivery went wrong').waitFor()
  assert.equal(await notice.count(), 0)
})

it('shows statuses and order numbers whole, in the theme that the person chose', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const refusal = { status: 400, code: 100, subcode: 2_804_048 }
  await scriptFaults(service.simulatorUrl, [{ respond: refusal }])
  const order = 'SHOP-EU-2026-000010017'
  const value_data = { value: '19.95', currency: 'EUR', order_id: order }
  const event_id = `${'long-'.repeat(20)}id`
  await service.submit(samplePurchase({ event_id, value_data }))
  await service.deliver()
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/events`)
  const status = page.getByRole('table').getByText('failed:permanent', { exact: true })
  for (const width of [390, 768, 1_440]) {
    await page.setViewportSize({ width, height: 844 })
    await status.waitFor()
    assert.ok(await isWhole(status, width), `the status at ${width} px`)
  }
  const shown = page.getByText(order, { exact: true })
  const height = (await shown.boundingBox())?.height ?? 0
  assert.ok(height > 0 && height < 30, `the order number is ${height} px high`)

  await page.getByLabel('Theme').selectOption('Dark')
  await page.reload()
  await status.waitFor()
  const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor')
  assert.equal(ground, 'rgb(16, 22, 19)')
  await assertAccessible()
})

/** Inside the screen, and nothing of the text is cut. */
async function isWhole(text: Locator, width: number): Promise<boolean> {
  const box = await text.boundingBox()
  const isCut = await text.evaluate('node => node.scrollWidth > node.clientWidth')
  return box !== null && box.x >= 0 && box.x + box.width <= width && !isCut
}
