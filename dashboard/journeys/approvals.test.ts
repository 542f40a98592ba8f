import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import {
  type AgentActionsFixture,
  approvalsPath,
  BUDGET_INCREASE,
  buildBudgetProposal,
  setExecutionMode,
  startAgentActionsFixture,
} from '../../testing/fixtures/agent-actions.ts'
import { addMember, createTestUser } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

const PHONE = { width: 375, height: 740 }

for (const hasScript of [true, false]) {
  const title = hasScript ? 'with script' : 'without script'
  it(`approves one change and rejects another on a phone, ${title}`, async test => {
    const fixture = await startFixture(test)
    const { service, workspace } = fixture
    const { page, assertAccessible } = await openJourneyPage(test, {
      service,
      person: workspace.owner,
      hasScript,
    })
    await page.setViewportSize(PHONE)
    await page.goto(service.url + approvalsPath(fixture))
    await page.getByRole('link', { name: 'Approvals 2 pending' }).waitFor()
    await page.getByRole('link', { name: 'Review and decide' }).first().click()
    await assertInReach(page, 'Approve')
    await page.getByLabel('Your reason').fill('It sells.')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Your decision is saved').waitFor()

    await page.getByRole('link', { name: 'All pending approvals' }).click()
    await page.getByRole('link', { name: 'Review and decide' }).click()
    await assertInReach(page, 'Reject')
    await page.getByLabel('Your reason').fill('Not now.')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('Your decision is saved').waitFor()

    await page.getByRole('link', { name: 'All pending approvals' }).click()
    await page.getByText('No pending approvals').waitFor()
    await page.getByRole('link', { name: 'Decided' }).click()
    const rows = page.getByRole('list', { name: 'Decided changes' }).getByRole('listitem')
    assert.match(await rows.nth(0).innerText(), /Rejected\s*Rejected by \w+@people\.example/)
    assert.match(await rows.nth(1).innerText(), /Verified\s*Approved by \w+@people\.example/)
    if (hasScript) await assertAccessible()
  })
}

it('moves and decides with j, k, a and r, and not where they are in the way', async test => {
  const fixture = await startFixture(test)
  const { service, workspace } = fixture
  const { page, assertAccessible } = await openJourneyPage(test, {
    service,
    person: workspace.owner,
  })
  await page.goto(service.url + approvalsPath(fixture))
  await assertAccessible()
  const focused = () => page.evaluate('document.activeElement.getAttribute("aria-describedby")')
  await page.keyboard.press('j')
  assert.equal(await focused(), 'batch-1')
  await page.keyboard.press('j')
  assert.equal(await focused(), 'batch-2')
  await page.keyboard.press('j')
  assert.equal(await focused(), 'batch-2', 'the last one')
  await page.keyboard.press('k')
  assert.equal(await focused(), 'batch-1')
  await page.keyboard.press('Control+a')
  assert.match(page.url(), /approvals$/, 'a shortcut of the browser stays one')
  await page.keyboard.press('a')

  await page.getByRole('heading', { name: 'Proposal 1', level: 1 }).waitFor()
  await assertAccessible()
  await page.keyboard.press('a')
  assert.equal(await page.evaluate('document.activeElement.id'), 'reason', 'a reason comes first')
  await page.keyboard.type('a jar')
  assert.equal(await page.getByLabel('Your reason').inputValue(), 'a jar')
  await page.evaluate('document.activeElement.blur()')
  await page.getByRole('button', { name: 'Turn off shortcuts' }).click()
  await page.keyboard.press('r')
  await page.reload()
  await page.getByRole('button', { name: 'Turn on keyboard shortcuts' }).click()
  await page.getByLabel('Your reason').fill('Not now.')
  await page.evaluate('document.activeElement.blur()')
  await page.keyboard.press('r')
  await page.getByText('Your decision is saved').waitFor()
})

it('keeps policy, people, log and error page accessible and as wide as the screen', async test => {
  const fixture = await startFixture(test)
  const { service, workspace } = fixture
  const { page, assertAccessible } = await openJourneyPage(test, {
    service,
    person: workspace.owner,
    expectedStatuses: [404],
  })
  const base = `/workspaces/${workspace.workspaceId}`
  for (const path of [`${base}/policy`, `${base}/people`, `${base}/audit`, '/nothing']) {
    await page.goto(service.url + path)
    if (path.endsWith('/audit')) await page.locator('.log summary').first().click()
    await assertAccessible()
  }
})

it('shows a policy that waits to both owners, who confirm one and cancel another', async test => {
  const fixture = await startFixture(test)
  const { service, workspace } = fixture
  const { workspaceId, owner } = workspace
  const second = await createTestUser(service)
  await addMember(service, { workspaceId, userId: second.userId, role: 'owner' })
  const saver = await openJourneyPage(test, { service, person: owner })
  const other = await openJourneyPage(test, { service, person: second })
  const policyUrl = `${service.url}/workspaces/${workspaceId}/policy`

  await saveMode(saver.page, { policyUrl, mode: /^Auto/ })
  const saved = waitingCard(saver.page)
  await saved.getByText(`Saved by ${owner.email}`).waitFor()
  await saved.getByText(/^It becomes valid \d+ \w{3} \d{4}, \d\d:\d\d UTC/).waitFor()
  await saved.getByText('Now: Ask').waitFor()
  assert.equal(await saved.getByRole('button', { name: 'Confirm now' }).count(), 0)
  await saver.page.getByRole('heading', { name: 'Current policy: Ask' }).waitFor()
  await saver.assertAccessible()

  await other.page.goto(service.url + approvalsPath(fixture))
  await waitingCard(other.page).getByText(`Saved by ${owner.email}`).waitFor()
  await other.assertAccessible()
  await waitingCard(other.page).getByRole('button', { name: 'Confirm now' }).click()
  await other.page.getByText('The policy is valid now').waitFor()
  await other.page.getByRole('heading', { name: /^Current policy: Auto/ }).waitFor()
  assert.equal(await waitingCard(other.page).count(), 0)

  // Less applies at once, and more waits again: any owner cancels it, the one who saved it too.
  await saveMode(saver.page, { policyUrl, mode: /^Ask/ })
  await saver.page.getByRole('heading', { name: 'Current policy: Ask' }).waitFor()
  await saveMode(saver.page, { policyUrl, mode: /^Auto/ })
  await waitingCard(saver.page).getByRole('button', { name: 'Cancel it' }).click()
  await saver.page.getByText('canceled').first().waitFor()
  assert.equal(await waitingCard(saver.page).count(), 0)
  await saver.page.getByRole('heading', { name: 'Current policy: Ask' }).waitFor()
})

function waitingCard(page: Page) {
  return page.getByRole('region', { name: 'A policy that permits more is waiting' })
}

async function saveMode(page: Page, { policyUrl, mode }: { policyUrl: string; mode: RegExp }) {
  await page.goto(policyUrl)
  await page.getByRole('radio', { name: mode }).check()
  await page.getByRole('button', { name: 'Save the policy' }).click()
  await page.getByRole('alert').or(page.getByRole('status')).first().waitFor()
}

/** Two proposals of one change each, in a workspace that executes what is approved. */
async function startFixture(test: TestContext): Promise<AgentActionsFixture> {
  // Cookies expire by the real clock of the browser.
  const fixture = await startAgentActionsFixture(test, { startAt: new Date().toISOString() })
  await setExecutionMode(fixture, 'ask')
  const target = (position: number) => ({ type: 'campaign', id: fixture.entityId(position) })
  for (const action of [
    { ...BUDGET_INCREASE, target_entity: target(1) },
    { type: 'pause', params: {}, target_entity: target(2), rationale: 'It does not sell.' },
  ]) {
    const body = buildBudgetProposal('1', { actions: [action], idempotency_key: action.type })
    assert.equal((await fixture.request('POST', '/actions', { body })).status, 201)
  }
  return fixture
}

/** The button is on the screen before any scrolling. */
async function assertInReach(page: Page, name: string): Promise<void> {
  assert.equal(await page.evaluate('scrollY'), 0)
  const box = await page.getByRole('button', { name }).boundingBox()
  assert.ok(box && box.y + box.height <= PHONE.height, `${name} is at ${box?.y}`)
}
