import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import {
  type AgentActionsFixture,
  buildBudgetProposal,
  HOSTILE_TEXTS,
  startAgentActionsFixture,
  submitHostileProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import { openMobilePage, signInWithPassword } from '../../../testing/fixtures/mobile-page.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'

/** Cookies expire by the real clock of the browser. */
const NOW = { startAt: new Date().toISOString() }

it('completes a review on a phone: link, decision, policy and log', async test => {
  const fixture = await startAgentActionsFixture(test, NOW)
  const { page, assertAccessible: look, consoleMessages: said } = await openMobilePage(test)
  const base = baseOf(fixture)

  await page.goto(await proposed(fixture, 'key-1'))
  await signInWithPassword(page, fixture.workspace.owner.email)
  await page.getByRole('heading', { name: 'Proposal 1' }).waitFor()
  await look()
  await page.getByText('Nothing is executed here').waitFor()

  await page.getByRole('link', { name: 'Policy' }).click()
  await look()
  await page.getByRole('radio', { name: /^Ask/ }).check()
  await page.getByLabel('Largest budget change per action, as an amount').fill('1,000')
  await page.getByRole('button', { name: 'Save the policy' }).click()
  await page.getByRole('alert').waitFor()
  await look()
  await page.getByRole('link', { name: /^Enter the amount in digits/ }).click()
  assert.equal(await page.evaluate('document.activeElement.id'), 'change_minor_max')
  await page.getByLabel('Largest budget change per action, as an amount').fill('30.00')
  await page.getByRole('button', { name: 'Save the policy' }).click()
  await page.getByRole('heading', { name: 'Current policy: Ask' }).waitFor()
  await page.getByText('at most 20%, at most €30.00').waitFor()
  await look()

  await proposed(fixture, 'key-2')
  await page.getByRole('link', { name: 'Approvals' }).click()
  await page.getByRole('heading', { name: 'Proposal 2: 2 changes' }).waitFor()
  await look()
  await page.getByRole('link', { name: 'Review and decide' }).first().click()
  await decideOnOne(page, { approve: 0, reason: 'It was planned.' })
  await page.getByText('Verified', { exact: true }).waitFor()
  await look()
  await page.getByRole('link', { name: 'All pending approvals' }).click()
  await page.getByRole('heading', { name: 'Proposal 2: 2 changes' }).waitFor()
  await page.getByRole('link', { name: 'Review and decide' }).last().click()
  await rejectAll(page, look)

  await page
    .getByText(/^Receipt: log entry/)
    .first()
    .click()
  await look()
  await page
    .getByRole('link', { name: /^Action \d+ in the log/ })
    .first()
    .click()
  await page.getByRole('listitem').filter({ hasText: 'Action rejected' }).waitFor()
  await look()
  await page.getByRole('link', { name: 'Clear filters' }).click()
  await page.getByRole('button', { name: 'Verify the log' }).click()
  await page.getByRole('heading', { name: 'The log is intact' }).waitFor()
  await look()
  assert.equal(new URL(page.url()).pathname, `${base}/audit/verify`)
  const file = page.waitForEvent('download')
  await page.getByRole('link', { name: /^Download the log/ }).click()
  assert.match((await file).suggestedFilename(), /^audit-\d+\.ndjson$/)
  assert.deepEqual(said, [])
})

it('rejects a change with the keyboard alone', async test => {
  const fixture = await startAgentActionsFixture(test, NOW)
  const { page } = await openMobilePage(test)
  await page.goto(await proposed(fixture, 'key-1'))
  await signInWithPassword(page, fixture.workspace.owner.email)
  await page.getByRole('checkbox').first().focus()
  await page.keyboard.press('Space')
  assert.equal(await page.getByRole('checkbox').first().isChecked(), false)
  await page.getByLabel('Your reason').focus()
  await page.keyboard.type('Not now.')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Approve')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('Your decision is saved').waitFor()
  assert.equal(await page.getByText('Not now.').count(), 1)
})

it('shows a member disabled controls with the reason', async test => {
  const fixture = await startAgentActionsFixture(test, NOW)
  const { page, assertAccessible: look } = await openMobilePage(test)
  const member = await createTestUser(fixture.service)
  const { workspaceId } = fixture.workspace
  await addMember(fixture.service, { workspaceId, userId: member.userId, role: 'member' })
  await page.goto(await proposed(fixture, 'key-1'))
  await signInWithPassword(page, member.email)
  await page.getByText('Only owners and admins can decide').waitFor()
  await look()
  assert.equal(await page.getByRole('button', { name: 'Approve' }).isDisabled(), true)
  assert.equal(await page.getByRole('button', { name: 'Reject' }).isDisabled(), true)
  for (const [tab, sentence] of [
    ['Approvals', 'Pending approvals'],
    ['Policy', 'Only an owner of the workspace can change the policy.'],
    ['Log', 'Only owners and administrators of the workspace can read its log.'],
  ] as const) {
    const navigation = page.getByRole('navigation', { name: 'Workspace' })
    if (tab === 'Log') await page.goto(`${fixture.service.url}${baseOf(fixture)}/audit`)
    else await navigation.getByRole('link', { name: tab }).click()
    await page.getByText(sentence).first().waitFor()
    await look()
  }
})

it('keeps layout and text intact with hostile input', async test => {
  for (const kind of ['long', 'markup', 'direction'] as const) {
    const fixture = await startAgentActionsFixture(test, NOW)
    const { page, assertAccessible: look } = await openMobilePage(test)
    const dialogs: string[] = []
    page.on('dialog', dialog => {
      dialogs.push(dialog.message())
      return dialog.dismiss()
    })
    const path = await submitHostileProposal(fixture, HOSTILE_TEXTS[kind] ?? '')
    await page.goto(fixture.service.url + path)
    await signInWithPassword(page, fixture.workspace.owner.email)
    await page.getByRole('heading', { name: 'Proposal 1' }).waitFor()
    await page.getByText('Evidence of the agent').click()
    await look()
    await page.getByRole('link', { name: 'All pending approvals' }).click()
    await page.getByRole('heading', { name: 'Pending approvals' }).waitFor()
    await look()
    await page.goto(`${fixture.service.url}${baseOf(fixture)}/audit`)
    for (const summary of await page.locator('.log summary').all()) await summary.click()
    await look()
    assert.deepEqual(dialogs, [])
  }
})

/** A phone, with a check for accessibility violations and horizontal overflow. */
function baseOf({ workspace }: AgentActionsFixture): string {
  return `/workspaces/${workspace.workspaceId}`
}

/** Proposes two changes and returns the URL for the user. */
async function proposed(fixture: AgentActionsFixture, idempotency_key: string): Promise<string> {
  const target = (position: number) => ({ type: 'campaign', id: fixture.entityId(position) })
  const actions = [
    {
      type: 'increase_budget',
      params: { new_daily_budget_minor: 13_500 },
      target_entity: target(1),
      rationale: 'It sells.',
    },
    { type: 'pause', params: {}, target_entity: target(2), rationale: 'It does not sell.' },
  ]
  const body = buildBudgetProposal('1', { actions, idempotency_key })
  const reply = await fixture.request('POST', '/actions', { body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.proposal.inbox_url
}

async function decideOnOne(page: Page, { approve, reason }: { approve: number; reason: string }) {
  const boxes = page.getByRole('checkbox')
  const count = await boxes.count()
  for (let position = 0; position < count; position += 1) {
    if (position !== approve) await boxes.nth(position).uncheck()
  }
  await page.getByLabel('Your reason').fill(reason)
  await page.getByRole('button', { name: 'Approve' }).click()
}

async function rejectAll(page: Page, look: () => Promise<void>): Promise<void> {
  // The first proposal raised the budget, so the same change of the second is stale.
  await page.getByText('The entity was changed elsewhere after the').waitFor()
  await look()
  await page.getByLabel('Your reason').fill('Once is enough.')
  await page.getByRole('button', { name: 'Reject' }).click()
  await page.getByText('Your decision is saved').waitFor()
}
