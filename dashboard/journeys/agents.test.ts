import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkTokenAccess, connectAgent, startOauthFixture } from '../../testing/fixtures/oauth.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { addAdAccount, createTestUser, createTestWorkspace } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

const HOSTILE = '<img src=x onerror="document.title=1">'
const CONFIRM_AGAIN_SECONDS = 16 * 60
const OPEN = 200

it('shows, renames, moves and revokes an agent, whose name is text', async test => {
  const fixture = await startOauthFixture(test, { startAt: new Date().toISOString() })
  const { service, workspace } = fixture
  const { accessToken } = await connectAgent(fixture)
  await addAdAccount(service, workspace.workspaceId, 'Shop US')
  const hostile = 'update oauth_clients set name = $1'
  await service.database.pool.query(hostile, [HOSTILE])
  const { owner } = workspace
  const options = { service, person: owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, options)
  await page.goto(`${service.url}/w/${workspace.workspaceId}/agents`)
  const table = page.getByRole('table', { name: 'Connections' })
  await table.getByText('Connected').waitFor()
  await assertAccessible()
  const open = async (action: string) => {
    await table.getByRole('button', { name: /^Actions for/ }).click()
    await page.locator('.row-menu:popover-open').getByRole('button', { name: action }).click()
  }
  const dialog = page.getByRole('dialog')

  await open('Details')
  await dialog.getByText(HOSTILE, { exact: true }).waitFor()
  await dialog.getByText('not verified').waitFor()
  await dialog.getByText(/^Propose budget changes/).waitFor()
  await assertAccessible()
  await dialog.getByRole('button', { name: 'Done' }).click()

  await open('Rename')
  await dialog.getByLabel('Name').fill(' ')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await dialog.getByText('Enter a name of 1 to 100 characters.').waitFor()
  await dialog.getByLabel('Name').fill('Reports & <more>')
  await page.keyboard.press('Enter')
  await table.getByText('Reports & <more>').waitFor()
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, OPEN)

  await open('Change the ad account')
  await dialog.getByRole('button', { name: 'Change the ad account' }).click()
  await table.getByText('Must be approved again').waitFor()
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, 401)

  await open('Revoke')
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await table.getByText('Revoked').waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  assert.equal(await page.title(), 'Agents · Signalbox')
  await assertAccessible()
})

it('issues a token after a confirmation, shows it once, and revokes it', async test => {
  const fixture = await startOauthFixture(test)
  const { service, workspace } = fixture
  const { owner, workspaceId } = workspace
  const options = { service, person: owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, options)
  await page.goto(`${service.url}/w/${workspaceId}/tokens`)
  await page.getByRole('heading', { name: 'No token yet' }).waitFor()
  await assertAccessible()
  const issue = page.getByRole('button', { name: 'Issue a token' })
  const dialog = page.getByRole('dialog')

  await issue.click()
  await dialog.getByRole('button', { name: 'Issue the token' }).click()
  await dialog.getByText('Enter a name of 1 to 100 characters.').waitFor()
  await dialog.getByLabel('Name').fill('Nightly <b>report</b>')
  await dialog.getByLabel('Valid for').selectOption('90 days')
  await assertAccessible()
  await dialog.getByRole('button', { name: 'Issue the token' }).click()
  await dialog.getByText('it is shown only once').waitFor()
  const token = await dialog.locator('pre').innerText()
  assert.match(token, /^sbx_wet_[0-9a-f]{72}$/)
  await assertAccessible()
  await page.keyboard.press('Escape')
  assert.ok(await dialog.isVisible(), 'no key closes it by accident')
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  const row = page.getByRole('row').filter({ hasText: token.slice(-4) })
  await row.getByText('Nightly <b>report</b>').waitFor()
  await page.reload()
  await row.waitFor()
  assert.ok(!(await page.content()).includes(token), 'the token is not shown again')
  assert.equal((await checkTokenAccess(fixture, token)).mcp, OPEN)
  await assertAccessible()

  await row.getByRole('button', { name: /^Actions for/ }).press('Enter')
  await page
    .locator('.row-menu:popover-open')
    .getByRole('button', { name: 'Revoke' })
    .press('Enter')
  await dialog.getByRole('button', { name: 'Revoke' }).press('Enter')
  await row.getByText('Revoked').waitFor()
  assert.equal((await checkTokenAccess(fixture, token)).mcp, 401)

  fixture.advance(CONFIRM_AGAIN_SECONDS)
  await issue.click()
  const link = dialog.getByRole('link', { name: 'Confirm your identity' })
  const returnTo = encodeURIComponent(`/w/${workspaceId}/tokens`)
  assert.equal(await link.getAttribute('href'), `/account/confirm?return_to=${returnTo}`)
  assert.equal(await dialog.getByLabel('Name').count(), 0)
})

it('adds, disables and enables an ad account', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const options = { service, person: owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, options)
  await page.goto(`${service.url}/w/${workspaceId}/ad-accounts`)
  const table = page.getByRole('table', { name: 'Ad accounts' })
  await table.getByText('Shop EU').waitFor()
  await page.getByRole('button', { name: 'Add an ad account' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Shop US')
  await dialog.getByLabel('Meta ad account ID').fill('act_1234567890')
  await dialog.getByLabel('Currency').fill('dollar')
  await dialog.getByLabel('Time zone').selectOption('America/New_York')
  await dialog.getByRole('button', { name: 'Add the ad account' }).click()
  await dialog
    .getByText(/three-letter|ISO 4217|currency/i)
    .last()
    .waitFor()
  await assertAccessible()
  await dialog.getByLabel('Currency').fill('usd')
  await dialog.getByRole('button', { name: 'Add the ad account' }).click()
  const row = table.getByRole('row').filter({ hasText: 'Shop US' })
  await row.getByText('1234567890', { exact: true }).waitFor()
  await row.getByText('America/New_York').waitFor()
  await assertAccessible()
  for (const [action, status] of [
    ['Disable', 'Disabled'],
    ['Enable', 'Active'],
  ] as const) {
    await row.getByRole('button', { name: 'Actions for Shop US' }).click()
    await page.locator('.row-menu:popover-open').getByRole('button', { name: action }).click()
    await dialog.getByRole('button', { name: action }).click()
    await row.getByText(status).waitFor()
  }
})

it('leads an owner without an ad account to where one is added', async test => {
  const service = await startTestService(test)
  const { client, ...person } = await createTestUser(service)
  const { body } = await client.call('POST', '/browser/workspaces', { body: { name: 'New shop' } })
  const { page } = await openJourneyPage(test, { service, person: { ...person, client } })
  await page.goto(`${service.url}/w/${body.id}/tokens`)
  await page.getByRole('link', { name: 'Open the ad accounts' }).click()
  await page.getByRole('heading', { name: 'No ad account yet' }).waitFor()
  await page.getByRole('link', { name: 'Agents', exact: true }).click()
  await page.getByRole('heading', { name: 'No agent is connected' }).waitFor()
})
