import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import {
  BUDGET_INCREASE,
  HOSTILE_TEXTS,
  setExecutionMode,
  startAgentActionsFixture,
  submitHostileProposal,
} from '../../testing/fixtures/agent-actions.ts'
import { decide, openAs, openProposal, PHONE, propose, REASON } from './proposals.ts'

it('turns hostile texts into text, as wide as the screen, with hidden characters', async test => {
  for (const [kind, hostile] of Object.entries(HOSTILE_TEXTS)) {
    const fixture = await startAgentActionsFixture(test, { startAt: new Date().toISOString() })
    const path = await submitHostileProposal(fixture, hostile)
    const { page } = await openAs(test, fixture, fixture.workspace.owner)
    const dialogs: string[] = []
    page.on('dialog', dialog => {
      dialogs.push(dialog.message())
      return dialog.dismiss()
    })
    await page.setViewportSize(PHONE)
    await page.goto(fixture.service.url + path)
    await page.getByText('Evidence of the agent').waitFor()
    await assertHarmless(page, kind)
    await decide(page, 'Reject', hostile)
    await assertHarmless(page, kind)
    for (const place of ['approvals?view=decided', 'audit', 'approvals']) {
      await page.goto(`${fixture.service.url}/w/${fixture.workspace.workspaceId}/${place}`)
      await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor()
      if (place !== 'approvals') await page.getByRole('table').waitFor()
      for (const entry of await page.locator('main summary').all()) await entry.click()
      await assertHarmless(page, `${kind} ${place}`)
    }
    assert.deepEqual(dialogs, [])
  }
})

it('shows what a resume sets in motion, one choice for all or nothing, and an undo', async test => {
  const fixture = await startAgentActionsFixture(test, { startAt: new Date().toISOString() })
  await setExecutionMode(fixture, 'ask')
  const target = (position: number) => ({ type: 'campaign', id: fixture.entityId(position) })
  const resume = { type: 'resume', params: {}, target_entity: target(3), rationale: 'Summer.' }
  const raise = { ...BUDGET_INCREASE, target_entity: { ...target(1), name: 'Only a test' } }
  await propose(fixture, [resume, raise], { all_or_nothing: true })
  await propose(fixture, [resume], { idempotency_key: 'key-2' })
  const { page, assertAccessible } = await openAs(test, fixture, fixture.workspace.owner)
  await openProposal(page, fixture, 1)
  await page.getByText('All or nothing: your decision covers all changes').waitFor()
  assert.equal(await page.getByRole('checkbox').count(), 0)
  const text = await page.getByRole('main').innerText()
  assert.match(text, /Daily budgets that it sets in motion: €15\.00/)
  assert.match(text, /Also pending for this entity:\s*Proposal 2: Resume, €15\.00/)
  assert.match(text, /The agent calls it Only a test\. Its name on the platform is /)
  assert.match(text, /cites a source that it never used/)
  assert.match(text, /Changed and resumed daily budgets\s*€0\.00 \(no limit\)/)
  await decide(page, 'Approve', REASON)
  await page.getByRole('button', { name: 'Propose to undo' }).first().click()
  const dialog = page.getByRole('dialog')
  assert.match(await dialog.getByLabel('Reason').inputValue(), /^Undo action \d of proposal 1\.$/)
  await assertAccessible()
  await dialog.getByRole('button', { name: 'Propose to undo' }).click()
  await page.getByRole('heading', { name: 'Proposal 3' }).waitFor()
  await page.getByText(/^It undoes action \d\.$/).waitFor()
  await openProposal(page, fixture, 1)
  await page.getByRole('link', { name: 'Proposal 3 undoes this change' }).waitFor()
})

/** Only our own elements and links, no invisible characters, and nothing wider than the screen. */
async function assertHarmless(page: Page, what: string): Promise<void> {
  const main = page.getByRole('main')
  assert.equal(await main.locator('script, iframe, form[action], img').count(), 0, what)
  for (const link of await main.locator('a').all())
    assert.match((await link.getAttribute('href')) ?? '', /^\/(?!\/)/, what)
  assert.doesNotMatch(
    await main.innerText(),
    /[\u202A-\u202E\u2066-\u2069\u200B\u200F\u2060\uFEFF]/,
  )
  const width = Number(await page.evaluate('document.documentElement.scrollWidth'))
  assert.ok(width <= PHONE.width, `${what}: ${width} px`)
}
