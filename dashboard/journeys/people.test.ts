import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import type { Page } from 'playwright-core'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { addMember, createTestUser, findEmailedLink } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

const HOSTILE = '<img src=x onerror="document.title=1">'
const CONFIRM_AGAIN_SECONDS = 16 * 60

async function stage(service: TestService) {
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { workspaceId } = tracker
  const join = async (role: WorkspaceRole) => {
    const user = await createTestUser(service)
    await addMember(service, { workspaceId, userId: user.userId, role })
    return user
  }
  return { owner, workspaceId, join, url: `${service.url}/w/${workspaceId}/people` }
}

async function openPeople(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByRole('table', { name: 'People' }).waitFor()
}

async function chooseAction(page: Page, about: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${about}` }).click()
  await page.locator('.row-menu:popover-open').getByRole('button', { name: action }).click()
}

it('invites a person, who reads what the role allows, and withdraws an invitation', async test => {
  const service = await startTestService(test)
  const { owner, url } = await stage(service)
  const options = { service, person: owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, options)
  await openPeople(page, url)
  await assertAccessible()

  await page.getByRole('button', { name: 'Invite a person' }).click()
  const dialog = page.getByRole('dialog', { name: 'Invite a person' })
  await dialog.getByLabel('Email').fill(owner.email)
  await dialog.getByLabel('Role').selectOption('Events viewer')
  await dialog.getByText('See the overview, events, issues and reports.').waitFor()
  assert.equal(await dialog.getByRole('listitem').count(), 1)
  await assertAccessible()
  await dialog.getByRole('button', { name: 'Send the invitation' }).click()
  await dialog.getByText('Already a member of this workspace.').waitFor()
  await dialog.getByLabel('Email').fill('guest@people.example')
  await page.keyboard.press('Enter')
  const invitations = page.getByRole('table', { name: 'Invitations' })
  await invitations.getByText('guest@people.example').waitFor()
  await invitations.getByRole('cell', { name: 'Events viewer' }).waitFor()
  const email = service.mails.find(({ to }) => to === 'guest@people.example')
  assert.match(email?.text ?? '', /as events viewer\. You may:\n\n- See the overview/)
  assert.ok(findEmailedLink(service.mails, 'guest@people.example', '/invitations/'))
  await assertAccessible()

  await chooseAction(page, 'the invitation of guest@people.example', 'Withdraw')
  await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
  await invitations.waitFor({ state: 'detached' })
})

it('changes a role, removes a person, and asks for the identity before it grants power', async test => {
  const service = await startTestService(test)
  const { owner, url, join } = await stage(service)
  const [member, other] = [await join('member'), await join('viewer')]
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  service.clock.advance(CONFIRM_AGAIN_SECONDS)
  await openPeople(page, url)

  await chooseAction(page, member.email, 'Change the role')
  const dialog = page.getByRole('dialog', { name: `Role of ${member.email}` })
  await dialog.getByLabel('Role').selectOption('Administrator')
  await dialog.getByText('Confirm your identity first').waitFor()
  const link = dialog.getByRole('link', { name: 'Confirm your identity' })
  assert.match((await link.getAttribute('href')) ?? '', /^\/account\/confirm\?return_to=%2Fw%2F/)
  await assertAccessible()
  await dialog.getByLabel('Role').selectOption('Events viewer')
  await dialog.getByText('Confirm your identity first').waitFor({ state: 'detached' })
  await dialog.getByRole('button', { name: 'Change the role' }).click()
  await dialog.waitFor({ state: 'detached' })
  const row = page.getByRole('row').filter({ hasText: member.email })
  await row.getByRole('cell', { name: 'Events viewer' }).waitFor()

  await chooseAction(page, other.email, 'Remove')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).press('Enter')
  await page.getByRole('row').filter({ hasText: other.email }).waitFor({ state: 'detached' })
  assert.equal((await other.client.get(url.replace(service.url, ''))).status, 404)
})

it('shows the wait of an invited administrator, and who may confirm it', async test => {
  const service = await startTestService(test)
  const { owner, url, join, workspaceId } = await stage(service)
  const inviter = await join('owner')
  const guest = await createTestUser(service)
  const path = `/browser/workspaces/${workspaceId}/invitations`
  const body = { email: guest.email, role: 'admin' }
  const { id } = (await inviter.client.call('POST', path, { body })).body
  await guest.client.call('POST', `/browser/invitations/${id}`, { body: { answer: 'accepted' } })
  const options = { service, expectedStatuses: [403] }
  const wait = 'or when another owner confirms it'
  const openAndConfirm = async (person: typeof owner) => {
    const { page } = await openJourneyPage(test, { ...options, person })
    await openPeople(page, url)
    await page.getByRole('cell', { name: wait }).waitFor()
    await chooseAction(page, guest.email, 'Confirm the role')
    await page.getByRole('dialog').getByRole('button', { name: 'Confirm the role' }).click()
    return page
  }
  await (await openAndConfirm(inviter)).getByText('You cannot confirm your own change.').waitFor()
  const page = await openAndConfirm(owner)
  await page.getByRole('cell', { name: wait }).waitFor({ state: 'detached' })
  await page
    .getByRole('row')
    .filter({ hasText: guest.email })
    .getByRole('cell', { name: 'Administrator' })
    .waitFor()
})

it('shows markup in names as text, and long names without breaking the page', async test => {
  const service = await startTestService(test)
  const { owner, url, join } = await stage(service)
  const [hostile, long] = [await join('member'), await join('member')]
  const rename = 'update people.users set name = $1 where id = $2'
  await service.database.pool.query(rename, [HOSTILE, hostile.userId])
  await service.database.pool.query(rename, ['Wolfeschlegelsteinhausen'.repeat(4), long.userId])
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: owner })
  await openPeople(page, url)
  await page.getByText(HOSTILE, { exact: true }).waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  assert.equal(await page.title(), 'People · Signalbox')
  await assertAccessible()
})

it('offers a member nothing that only others may do', async test => {
  const service = await startTestService(test)
  const { owner, url, join } = await stage(service)
  const member = await join('member')
  const { page } = await openJourneyPage(test, { service, person: member })
  await openPeople(page, url)
  await page.getByText(owner.email).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Invite a person' }).count(), 0)
  assert.equal(await page.getByRole('button', { name: `Actions for ${owner.email}` }).count(), 0)
  assert.equal(await page.getByRole('heading', { name: 'Second factor' }).count(), 0)
  await chooseAction(page, member.email, 'Leave the workspace')
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await page.waitForURL(`${service.url}/workspaces`)
})

it('shows an events viewer four pages and the own row, with nothing to change', async test => {
  const service = await startTestService(test)
  const { owner, url, join } = await stage(service)
  const viewer = await join('viewer')
  const { page, assertAccessible } = await openJourneyPage(test, {
    service,
    person: viewer,
    expectedStatuses: [403],
  })
  await openPeople(page, url)
  const names = await page.getByRole('navigation', { name: 'Workspace' }).getByRole('link').all()
  const labels = await Promise.all(names.map(link => link.innerText()))
  assert.deepEqual(labels, ['Overview', 'Events', 'Issues', 'Reports', 'People', 'Docs'])
  assert.equal(await page.getByText(owner.email).count(), 0)
  await page.getByText(viewer.email).first().waitFor()
  await assertAccessible()
  for (const name of ['Overview', 'Events', 'Issues', 'Reports']) {
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    const loading = page.getByRole('progressbar')
    while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('alert').count(), 0, name)
  }
  for (const path of ['keys', 'privacy', 'notifications', 'ad-accounts', 'agents', 'tokens']) {
    await page.goto(url.replace(/people$/, path))
    await page.getByText('Your role in this workspace does not allow this.').first().waitFor()
  }
})
