import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../testing/fixtures/service.ts'
import { openJourneyPage } from './journey-page.ts'

it('finds what a status means on a phone, by the search, without an account', async test => {
  const service = await startTestService(test)
  const { page } = await openJourneyPage(test, { service })
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto(`${service.url}/sign-in`)
  await page.getByRole('link', { name: 'Documentation' }).click()
  await page.getByRole('searchbox').fill('delivery statuses')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Statuses: Delivery statuses' }).click()
  await page.waitForURL('**/docs/statuses#delivery-statuses')
  await page.getByRole('heading', { name: 'Delivery statuses', exact: true }).waitFor()
  assert.match(await page.title(), / · Signalbox documentation$/)
})

// One renderer makes every page. The API reference is the longest: axe takes 16 s for it.
for (const path of ['/docs', '/docs/statuses', '/docs/replay', '/docs/search?q=consent']) {
  it(`${path} is accessible at every width, in light and dark mode`, async test => {
    const service = await startTestService(test)
    const { page, assertAccessible } = await openJourneyPage(test, { service })
    await page.goto(`${service.url}${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await assertAccessible()
  })
}
