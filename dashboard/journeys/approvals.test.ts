import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import { applyExternalChange } from '../../service/agents/campaigns/simulated-account-store.ts'
import {
  type AgentActionsFixture,
  approvalsPath,
  sendDecision,
} from '../../testing/fixtures/agent-actions.ts'
import { decide, join, openAs, openProposal, PHONE, REASON, startProposals } from './proposals.ts'

it('approves one change and rejects another on a phone', async test => {
  const fixture = await startProposals(test)
  const { service, workspace } = fixture
  const { page, assertAccessible } = await openAs(test, fixture, workspace.owner)
  await page.setViewportSize(PHONE)
  // The address that emails and stored answers of earlier versions have.
  await page.goto(`${service.url}/workspaces/${workspace.workspaceId}/approvals`)
  await page.getByRole('link', { name: 'Review and decide' }).first().click()
  await page.getByText('Evidence of the agent').waitFor()
  // What, from, to, why, on what evidence, and what happens otherwise: before any scrolling.
  for (const text of ['Raise the daily budget', '€120.00', '€135.00', 'It sells.'])
    await assertInReach(page, text)
  for (const text of ['If nobody decides', 'The owner asked for it.', 'get_performance'])
    await assertInReach(page, text)
  const bar = await page.getByRole('button', { name: 'Reject' }).boundingBox()
  assert.ok(bar && bar.y + bar.height <= PHONE.height, `Reject is at ${bar?.y}`)
  assert.equal(await page.getByLabel('Your reason').count(), 0, 'asked after the choice')
  await decide(page, 'Approve', 'It sells.')
  await page.getByText('The change was verified').waitFor()
  assert.match(await page.getByRole('main').innerText(), /Approved by \w+@people\.example/)
  await page.getByText(/^Receipt: log entry \d+/).click()
  await page.getByText(/SHA-256 of the receipt [0-9a-f]{64}/).waitFor()
  await assertAccessible()

  await page.setViewportSize(PHONE)
  await page.getByRole('link', { name: 'All approvals' }).click()
  await page.getByRole('link', { name: 'Review and decide' }).click()
  await decide(page, 'Reject', 'Not now.')

  await page.getByRole('link', { name: 'All approvals' }).click()
  await page.getByText('No pending approvals').waitFor()
  await page.getByRole('link', { name: 'Decided' }).click()
  const rows = page.getByRole('table', { name: 'Decided changes' }).getByRole('row')
  assert.match(await rows.nth(1).innerText(), /Rejected\s*Rejected by \w+@people\.example/)
  assert.match(await rows.nth(2).innerText(), /Verified\s*Approved by \w+@people\.example/)
  await assertAccessible()
})

it('moves and decides with j, k, a and r, and not where they are in the way', async test => {
  const fixture = await startProposals(test)
  const { page, assertAccessible } = await openAs(test, fixture, fixture.workspace.owner)
  await page.goto(fixture.service.url + approvalsPath(fixture))
  await page.getByRole('link', { name: 'Approvals 2 pending' }).waitFor()
  await page.getByRole('link', { name: 'Review and decide' }).first().waitFor()
  await assertAccessible()
  const focused = () => page.evaluate('document.activeElement.getAttribute("aria-describedby")')
  for (const [key, row] of [
    ['j', 'proposal-1'],
    ['j', 'proposal-2'],
    ['j', 'proposal-2'],
    ['k', 'proposal-1'],
  ] as const) {
    await page.keyboard.press(key)
    assert.equal(await focused(), row)
  }
  await page.keyboard.press('Control+a')
  assert.match(page.url(), /approvals$/, 'a shortcut of the browser stays one')
  await page.keyboard.press('a')
  await page.getByRole('heading', { name: 'Proposal 1', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: 'Turn off shortcuts' }).click()
  await page.keyboard.press('r')
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.reload()
  await page.getByRole('button', { name: 'Turn on keyboard shortcuts' }).click()
  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your reason').waitFor()
  await page.keyboard.type('a jar')
  assert.equal(await dialog.getByLabel('Your reason').inputValue(), 'a jar')
  await assertAccessible()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('Your decision is saved').waitFor()
  assert.equal(await page.getByText('a jar').count(), 1)
})

it('asks for a reason that is neither empty nor too long, and for a change', async test => {
  const fixture = await startProposals(test, 2)
  const { page } = await openAs(test, fixture, fixture.workspace.owner)
  await openProposal(page, fixture, 1)
  await page.getByRole('button', { name: 'Approve' }).click()
  const dialog = page.getByRole('dialog')
  for (const [reason, sentence] of [
    ['  ', 'Enter a reason.'],
    ['x'.repeat(1_001), 'The reason is too long'],
  ] as const) {
    await dialog.getByLabel('Your reason').fill(reason)
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText(sentence).waitFor()
  }
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
  await page.getByText('Choose at least one change.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Approve' }).isDisabled(), true)
  // Only the chosen change is decided; the other one stays.
  await page.getByRole('checkbox').first().check()
  await decide(page, 'Approve', `${'x'.repeat(499)}\n${'y'.repeat(500)}`)
  await page.getByText('The change was verified').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Reject' }).isEnabled(), true)
})

it('shows who decided first, and keeps the reason of the second person', async test => {
  const fixture = await startProposals(test)
  const admin = await join(fixture, 'admin')
  const { page } = await openAs(test, fixture, admin, [409])
  await openProposal(page, fixture, 1)
  await page.getByRole('button', { name: 'Reject' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your reason').fill('I think so too.')
  const { owner } = fixture.workspace
  const first = await sendDecision(owner.client, `${approvalsPath(fixture)}/1`, {
    decision: 'reject',
    reason: REASON,
  })
  assert.equal(first.status, 200)
  await dialog.getByRole('button', { name: 'Reject' }).click()
  await dialog.getByText('Your decision was not saved').waitFor()
  assert.equal(await dialog.getByLabel('Your reason').inputValue(), 'I think so too.')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText(`Rejected by ${owner.email}`).waitFor()
  await page.getByText(REASON).waitFor()
})

it('shows a newly exceeded limit before it accepts the approval', async test => {
  const fixture = await startProposals(test)
  const { page, assertAccessible } = await openAs(test, fixture, fixture.workspace.owner, [409])
  await openProposal(page, fixture, 1)
  await page.getByRole('button', { name: 'Approve' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your reason').fill(REASON)
  await allowOneEuro(fixture)
  await dialog.getByRole('button', { name: 'Approve' }).click()
  await dialog.getByText('Your decision was not saved').waitFor()
  assert.match(await dialog.innerText(), /by €15\.00; the policy allows €1\.00/)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('list', { name: 'Policy reasons' }).getByText('allows €1.00').waitFor()
  await page.getByText('Roles or the policy changed in the last 72 hours').waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await dialog.getByText('You accept that this exceeds limits').waitFor()
  await assertAccessible()
  await dialog.getByLabel('Your reason').fill(REASON)
  await dialog.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('The change was verified').waitFor()
})

it('warns about a stale entity, and rejects the change on approval', async test => {
  const fixture = await startProposals(test)
  const { service, workspace } = fixture
  const place = { adAccountId: workspace.adAccountId, type: 'campaign', id: fixture.entityId(1) }
  const at = service.clock.now()
  await applyExternalChange(service.database, place as never, { at, dailyBudgetMinor: 9_000 })
  const { page } = await openAs(test, fixture, workspace.owner)
  await page.goto(service.url + approvalsPath(fixture))
  await page.getByText('The entity was changed elsewhere').waitFor()
  await openProposal(page, fixture, 1)
  await page.getByText('the values above are out of date').waitFor()
  await decide(page, 'Approve', REASON)
  await page.getByText('Nothing was changed. The entity was changed elsewhere').waitFor()
})

it('lets members read only, and the person behind the agent reject only', async test => {
  const fixture = await startProposals(test)
  const member = await join(fixture, 'member')
  await join(fixture, 'owner')
  const reader = await openAs(test, fixture, member)
  await openProposal(reader.page, fixture, 1)
  await reader.page.getByText('Only owners and admins can decide').waitFor()
  await reader.assertAccessible()
  for (const name of ['Approve', 'Reject'])
    assert.equal(await reader.page.getByRole('button', { name }).isDisabled(), true, name)
  const proposer = await openAs(test, fixture, fixture.workspace.owner)
  await openProposal(proposer.page, fixture, 1)
  await proposer.page.getByText('You cannot approve a proposal of your own credential').waitFor()
  const approve = proposer.page.getByRole('button', { name: 'Approve' })
  assert.equal(await approve.isDisabled(), true)
  await decide(proposer.page, 'Reject', REASON)
  await proposer.page.getByText('Rejected', { exact: true }).waitFor()
})

async function allowOneEuro({ workspace }: AgentActionsFixture): Promise<void> {
  const path = `/browser/workspaces/${workspace.workspaceId}/policy`
  const { client } = workspace.owner
  const { policy } = (await client.call('GET', path)).body
  const { changed_at: _, ...submission } = policy
  const limits = { ...policy.limits, change_minor_max: 100 }
  const { status } = await client.call('PUT', path, { body: { ...submission, limits } })
  assert.equal(status, 200)
}

/** The text is on the screen before any scrolling, and not below the bar. */
async function assertInReach(page: Page, text: string): Promise<void> {
  assert.equal(await page.evaluate('scrollY'), 0)
  const box = await page.getByRole('main').getByText(text).first().boundingBox()
  const bar = await page.getByRole('region', { name: 'Decision' }).boundingBox()
  assert.ok(box && bar && box.y + box.height <= bar.y, `${text} is at ${box?.y}`)
}
