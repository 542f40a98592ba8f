import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { createTestUser, createTestWorkspace } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

it('creates the first workspace and opens it from the list', async test => {
  const service = await startTestService(test)
  const person = await createTestUser(service)
  const options = { service, person, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, options)
  await page.goto(`${service.url}/workspaces`)
  await page.getByLabel('Name').fill('   ')
  await page.keyboard.press('Enter')
  await page.getByText(/visible characters/).waitFor()
  await assertAccessible()
  await page.getByLabel('Name').fill('Shop of Ada')
  await page.getByRole('button', { name: 'Create the workspace' }).click()
  await page.getByRole('heading', { name: 'Start', level: 1 }).waitFor()

  await page.getByRole('link', { name: 'Signalbox' }).click()
  const list = page.getByRole('table', { name: 'Your workspaces' })
  await list.getByRole('cell', { name: 'Owner' }).waitFor()
  assert.equal(await page.title(), 'Your workspaces · Signalbox')
  await assertAccessible()
  await list.getByRole('link', { name: 'Shop of Ada' }).click()
  await page.waitForURL(/\/w\/\d+$/)
})

it('shows every workspace and invitation of a person as text, and no other', async test => {
  const service = await startTestService(test)
  const hostile = '<img src=x onerror="document.title=1">'
  const { owner, tracker } = await openDashboardWorkspace(service)
  const stranger = await createTestWorkspace(service)
  const body = { email: owner.email, role: 'member' }
  const path = `/browser/workspaces/${stranger.workspaceId}`
  const rename = (id: number | string, name: string) =>
    service.database.pool.query('update workspaces set name = $2 where id = $1', [id, name])
  await rename(stranger.workspaceId, hostile)
  await rename(tracker.workspaceId, 'Northwind Outdoor & Travel Equipment (Germany, Austria)')
  assert.equal(
    (await stranger.owner.client.call('POST', `${path}/invitations`, { body })).status,
    201,
  )
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await page.goto(`${service.url}/workspaces`)
  const list = page.getByRole('table', { name: 'Your workspaces' })
  await list.waitFor()
  assert.equal(await list.getByRole('link').count(), 1)
  assert.match(
    (await list.getByRole('link').getAttribute('href')) ?? '',
    new RegExp(`/w/${tracker.workspaceId}$`),
  )
  const invitations = page.getByRole('table', { name: 'Invitations' })
  await invitations.getByText(hostile, { exact: true }).waitFor()
  await assertAccessible()
  await invitations.getByRole('link', { name: /^Answer/ }).click()
  await page.getByRole('button', { name: 'Decline' }).click()
  await page.getByText('You declined the invitation.').waitFor()
  assert.equal(await invitations.count(), 0)
})

it('leads a visitor who is not signed in to the sign-in page and back', async test => {
  const service = await startTestService(test)
  const response = await fetch(`${service.url}/workspaces`, { redirect: 'manual' })
  assert.equal(response.headers.get('location'), '/sign-in?return_to=%2Fworkspaces')
})
