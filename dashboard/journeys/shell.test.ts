import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { openJourneyPage } from './journey-page.ts'

it('opens the overview, and another page by its name in the command palette', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}`)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await assertAccessible()

  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Search' }).waitFor()
  await assertAccessible()
  const search = page.getByLabel('Open a page')
  await search.fill('People')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/w/${tracker.workspaceId}/people`)
  await page.getByRole('heading', { name: 'People', level: 1 }).waitFor()
  assert.equal(await page.title(), 'People · Signalbox')
})

it('can be used on a phone with the keyboard alone', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page } = await openJourneyPage(test, { service, person: owner })
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto(`${service.url}/w/${tracker.workspaceId}`)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Approvals' }).waitFor()
})

it('marks the current page in the navigation, and no other', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/events`)
  await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor()
  const current = page.locator('nav a[aria-current="page"], nav a[data-active="true"]')
  assert.deepEqual(await current.allInnerTexts(), ['Events'])
})

it('leads on from an address that no page has', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/w/${tracker.workspaceId}/campaigns`)
  await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor()
  await assertAccessible()
  await page.getByRole('link', { name: 'Open the overview' }).click()
  await page.getByRole('heading', { name: 'No event yet' }).waitFor()
})
