import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import { approvalsPath } from '../../testing/fixtures/agent-actions.ts'
import { addAdAccount } from '../../testing/fixtures/users.ts'
import { join, openAs, startProposals } from './proposals.ts'

const CONFIRM_AGAIN_SECONDS = 16 * 60
const AMOUNT = 'Largest budget change per action, as an amount'

it('changes the policy, names wrong fields, and asks again after a conflict', async test => {
  const fixture = await startProposals(test)
  const { service, workspace } = fixture
  const { page, assertAccessible } = await openAs(test, fixture, workspace.owner, [409, 422])
  await page.goto(`${service.url}/w/${workspace.workspaceId}/policy`)
  await page.getByRole('heading', { name: 'Current policy: Ask' }).waitFor()
  await assertAccessible()
  await page.getByLabel(AMOUNT).fill('1,000')
  await save(page)
  await page.getByText('Enter the amount in digits').first().waitFor()
  assert.equal(await page.evaluate('document.activeElement.id'), 'change_minor_max')
  assert.equal(await page.getByLabel(AMOUNT).inputValue(), '1,000')
  await page.getByLabel(AMOUNT).fill('30.00')
  await save(page)
  await page.getByText('The policy is saved. It applies immediately').waitFor()
  await page.getByText('any percentage, at most €30.00').waitFor()

  const path = `/browser/workspaces/${workspace.workspaceId}/policy`
  const { client } = workspace.owner
  const { policy } = (await client.call('GET', path)).body
  const { changed_at: _, ...submission } = policy
  const limits = { ...policy.limits, change_percent_max: 7 }
  assert.equal((await client.call('PUT', path, { body: { ...submission, limits } })).status, 200)
  await page.getByLabel('Actions per day').fill('4')
  await save(page)
  await page.getByText('Another person changed the policy').waitFor()
  await page.getByText('at most 7%, at most €30.00').waitFor()
  assert.equal(await page.getByLabel('Actions per day').inputValue(), '4')
  await page.getByLabel('Largest budget change per action, in percent').fill('7')
  await save(page)
  await page.getByText('at most 4 actions, any amount').waitFor()
  await assertAccessible()
})

it('shows each currency in its own digits', async test => {
  const fixture = await startProposals(test)
  const { service, workspace } = fixture
  const second = await addAdAccount(service, workspace.workspaceId, 'Shop JP')
  const setCurrency = `update ad_accounts set currency = 'JPY' where id = $1`
  await service.database.pool.query(setCurrency, [second])
  const { page, assertAccessible } = await openAs(test, fixture, workspace.owner)
  await page.goto(`${service.url}/w/${workspace.workspaceId}/policy`)
  await page.getByText('In minor units: 5000 is €50.00 or JP¥5,000').first().waitFor()
  const euro = page.getByRole('group', { name: 'Amounts in EUR' })
  const yen = page.getByRole('group', { name: 'Amounts in JPY' })
  await euro.getByLabel(AMOUNT).fill('12.50')
  await yen.getByLabel(AMOUNT).fill('2000')
  await save(page)
  await page.getByText('at most €12.50 per action').waitFor()
  await page.getByText('at most JP¥2,000 per action').waitFor()
  await assertAccessible()
})

it('shows a policy that waits to both owners, who confirm one and cancel another', async test => {
  const fixture = await startProposals(test)
  const { service, workspace } = fixture
  const { workspaceId, owner } = workspace
  const second = await join(fixture, 'owner')
  const saver = await openAs(test, fixture, owner)
  const other = await openAs(test, fixture, second)
  const policyUrl = `${service.url}/w/${workspaceId}/policy`
  await saveMode(saver.page, policyUrl, /^Auto/)
  const saved = waitingCard(saver.page)
  await saved.getByText(`Saved by ${owner.email}`).waitFor()
  await saved.getByText(/^It becomes valid \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/).waitFor()
  await saved.getByText('Now: Ask').waitFor()
  assert.equal(await saved.getByRole('button', { name: 'Confirm now' }).count(), 0)
  await saver.assertAccessible()

  await other.page.goto(service.url + approvalsPath(fixture))
  await waitingCard(other.page).getByText(`Saved by ${owner.email}`).waitFor()
  await other.assertAccessible()
  await waitingCard(other.page).getByRole('button', { name: 'Confirm now' }).click()
  await other.page.getByText('The policy is valid now').waitFor()
  assert.equal(await waitingCard(other.page).count(), 0)
  await other.page.goto(policyUrl)
  await other.page.getByRole('heading', { name: /^Current policy: Auto/ }).waitFor()

  // Less applies at once, and more waits again: any owner cancels it, the one who saved it too.
  await saveMode(saver.page, policyUrl, /^Ask/)
  await saver.page.getByRole('heading', { name: 'Current policy: Ask' }).waitFor()
  await saveMode(saver.page, policyUrl, /^Auto/)
  await waitingCard(saver.page).getByRole('button', { name: 'Cancel it' }).click()
  await saver.page.getByText('The waiting policy is canceled.').waitFor()
  assert.equal(await waitingCard(saver.page).count(), 0)
})

it('asks for the identity before a policy permits more', async test => {
  const fixture = await startProposals(test)
  const { service, workspace } = fixture
  const { page } = await openAs(test, fixture, workspace.owner, [403])
  await page.goto(`${service.url}/w/${workspace.workspaceId}/policy`)
  await page.getByRole('radio', { name: 'Automatic within limits' }).check()
  service.clock.advance(CONFIRM_AGAIN_SECONDS)
  await save(page)
  const link = page.getByRole('link', { name: 'Confirm your identity' })
  assert.match((await link.getAttribute('href')) ?? '', /^\/account\/confirm\?return_to=%2Fw%2F/)
})

it('lets members read the policy, and not the log', async test => {
  const fixture = await startProposals(test)
  const member = await join(fixture, 'member')
  const { page, assertAccessible } = await openAs(test, fixture, member)
  const base = `${fixture.service.url}/w/${fixture.workspace.workspaceId}`
  await page.goto(`${base}/policy`)
  await page.getByText('Only an owner of the workspace can change the policy.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Save the policy' }).count(), 0)
  await page.goto(`${base}/audit`)
  await page.getByText('Only owners and administrators of the workspace can read').waitFor()
  assert.equal(await page.getByRole('table').count(), 0)
  await assertAccessible()
})

it('reads, filters, verifies and downloads the log, and names a changed entry', async test => {
  const fixture = await startProposals(test)
  const { service, workspace } = fixture
  const { page, assertAccessible } = await openAs(test, fixture, workspace.owner)
  await page.goto(`${service.url}/w/${workspace.workspaceId}/audit`)
  const rows = page.getByRole('table', { name: 'Entries of the log' }).getByRole('row')
  await rows.nth(1).getByText('Action requires approval').click()
  const first = await rows.nth(1).innerText()
  assert.match(first, /Retargeting - Shop visitors\s*Budget robot/)
  assert.match(first, /Subject\s*action 2/)
  assert.match(await page.getByRole('table').innerText(), /Token issued\s*Budget robot …\w{4}/)
  await assertAccessible()
  await page.getByLabel('Action', { exact: true }).selectOption('proposal.submitted')
  await page.waitForURL(/action=proposal\.submitted/)
  await rows.getByText('Token issued').waitFor({ state: 'detached' })
  await rows.getByText('Action requires approval').first().waitFor({ state: 'detached' })
  await rows.getByText('Proposal submitted').nth(1).waitFor()
  assert.equal(await rows.getByText('Proposal submitted').count(), 2)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByLabel('Subject ID').fill('999')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('No entries match').waitFor()
  await page.getByRole('button', { name: 'Verify the log' }).click()
  await page.getByText('The log is intact').waitFor()
  const file = page.waitForEvent('download')
  await page.getByRole('link', { name: /^Download the log/ }).click()
  assert.match((await file).suggestedFilename(), /^audit-\d+\.ndjson$/)
  const { pool } = service.database
  await pool.query('alter table audit_entries disable trigger all')
  await pool.query(
    `update audit_entries set body = replace(body, 'submitted', 'withdrawn')
     where workspace_id = $1 and body like '%proposal.submitted%'`,
    [workspace.workspaceId],
  )
  await page.getByRole('button', { name: 'Verify the log' }).click()
  await page.getByText('The log was changed').waitFor()
  await assertAccessible()
})

function waitingCard(page: Page) {
  return page.getByRole('region', { name: 'A policy that permits more is waiting' })
}

function save(page: Page) {
  return page.getByRole('button', { name: 'Save the policy' }).click()
}

async function saveMode(page: Page, url: string, mode: RegExp): Promise<void> {
  await page.goto(url)
  await page.getByRole('radio', { name: mode }).check()
  await save(page)
  await page.getByText(/^The policy is saved/).waitFor()
}
