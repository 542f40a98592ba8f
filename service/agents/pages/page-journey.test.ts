import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Page } from 'playwright-core'
import {
  type ChromiumUnderTest,
  startChromium,
} from '../../../browser/testing/chromium-under-test.ts'
import {
  type ActionsUnderTest,
  actionsUnderTest,
  proposalOf,
} from '../../../testing/actions-under-test.ts'
import { HOSTILE_TEXTS, hostileProposal } from '../../../testing/hostile-proposal.ts'
import { addMember, personUnderTest } from '../../../testing/people-under-test.ts'
import { phoneUnderTest, signInOn } from '../../../testing/phone-under-test.ts'

let chromium: ChromiumUnderTest
before(async () => {
  chromium = await startChromium()
})
after(() => chromium.close())

/** The browser has a clock of its own, by which cookies end. */
const NOW = { startAt: new Date().toISOString() }

it('on a phone: from the link of an agent to a decision, the policy and the log', async test => {
  const under = await actionsUnderTest(test, NOW)
  const { page, look, said } = await phoneUnderTest(test, chromium)
  const base = baseOf(under)

  await page.goto(await proposed(under, 'key-1'))
  await signInOn(page, under.workspace.owner.email)
  await page.getByRole('heading', { name: 'Proposal 1' }).waitFor()
  await look()
  await page.getByText('Nothing is carried out here').waitFor()

  await page.getByRole('link', { name: 'Policy' }).click()
  await look()
  await page.getByRole('radio', { name: /^Ask/ }).check()
  await page.getByLabel('Largest change of one budget, in money').fill('1,000')
  await page.getByRole('button', { name: 'Save the policy' }).click()
  await page.getByRole('alert').waitFor()
  await look()
  await page.getByRole('link', { name: /^Write the amount in digits/ }).click()
  assert.equal(await page.evaluate('document.activeElement.id'), 'change_minor_max')
  await page.getByLabel('Largest change of one budget, in money').fill('30.00')
  await page.getByRole('button', { name: 'Save the policy' }).click()
  await page.getByRole('heading', { name: 'What holds now: Ask' }).waitFor()
  await page.getByText('at most 20 %, at most €30.00').waitFor()
  await look()

  await proposed(under, 'key-2')
  await page.getByRole('link', { name: 'Approvals' }).click()
  await page.getByRole('heading', { name: 'Proposal 2: 2 changes' }).waitFor()
  await look()
  await page.getByRole('link', { name: 'Look at it and decide' }).first().click()
  await decideOnOne(page, { approve: 0, reason: 'It was planned.' })
  await page.getByText('Carried out and checked').waitFor()
  await look()
  await page.getByRole('link', { name: 'All that wait' }).click()
  await page.getByRole('heading', { name: 'Proposal 2: 2 changes' }).waitFor()
  await page.getByRole('link', { name: 'Look at it and decide' }).last().click()
  await rejectAll(page, look)

  await page
    .getByText(/^Receipt: entry/)
    .first()
    .click()
  await look()
  await page
    .getByRole('link', { name: /^Action \d+ in the log/ })
    .first()
    .click()
  await page.getByRole('listitem').filter({ hasText: 'Action rejected' }).waitFor()
  await look()
  await page.getByRole('link', { name: 'Show all' }).click()
  await page.getByRole('button', { name: 'Verify the log' }).click()
  await page.getByRole('heading', { name: 'The log is whole' }).waitFor()
  await look()
  assert.equal(new URL(page.url()).pathname, `${base}/audit/verify`)
  const file = page.waitForEvent('download')
  await page.getByRole('link', { name: /^Download it all/ }).click()
  assert.match((await file).suggestedFilename(), /^audit-\d+\.ndjson$/)
  assert.deepEqual(said, [])
})

it('by keyboard alone: choose, write a reason, reject', async test => {
  const under = await actionsUnderTest(test, NOW)
  const { page } = await phoneUnderTest(test, chromium)
  await page.goto(await proposed(under, 'key-1'))
  await signInOn(page, under.workspace.owner.email)
  await page.getByRole('checkbox').first().focus()
  await page.keyboard.press('Space')
  assert.equal(await page.getByRole('checkbox').first().isChecked(), false)
  await page.getByLabel('Your reason').focus()
  await page.keyboard.type('Not now.')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Approve')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('Your decision is kept').waitFor()
  assert.equal(await page.getByText('Not now.').count(), 1)
})

it('a member finds what they may not do disabled, with the reason', async test => {
  const under = await actionsUnderTest(test, NOW)
  const { page, look } = await phoneUnderTest(test, chromium)
  const member = await personUnderTest(under.service)
  const { workspaceId } = under.workspace
  await addMember(under.service, { workspaceId, userId: member.userId, role: 'member' })
  await page.goto(await proposed(under, 'key-1'))
  await signInOn(page, member.email)
  await page.getByText('Owners and admins decide').waitFor()
  await look()
  assert.equal(await page.getByRole('button', { name: 'Approve' }).isDisabled(), true)
  assert.equal(await page.getByRole('button', { name: 'Reject' }).isDisabled(), true)
  for (const [tab, sentence] of [
    ['Approvals', 'What waits for a decision'],
    ['Policy', 'Only an owner of the workspace can change the policy.'],
    ['Log', 'Only owners and administrators of the workspace can read its log.'],
  ] as const) {
    await page.getByRole('link', { name: tab, exact: true }).click()
    await page.getByText(sentence).waitFor()
    await look()
  }
})

it('whatever others write, the pages keep their width, their words and their peace', async test => {
  for (const kind of ['long', 'markup', 'direction'] as const) {
    const under = await actionsUnderTest(test, NOW)
    const { page, look } = await phoneUnderTest(test, chromium)
    const dialogs: string[] = []
    page.on('dialog', dialog => {
      dialogs.push(dialog.message())
      return dialog.dismiss()
    })
    const path = await hostileProposal(under, HOSTILE_TEXTS[kind] ?? '')
    await page.goto(under.service.url + path)
    await signInOn(page, under.workspace.owner.email)
    await page.getByRole('heading', { name: 'Proposal 1' }).waitFor()
    await page.getByText('What the agent says it is based on').click()
    await look()
    await page.getByRole('link', { name: 'All that wait' }).click()
    await page.getByRole('heading', { name: 'What waits' }).waitFor()
    await look()
    await page.getByRole('link', { name: 'Log' }).click()
    for (const summary of await page.getByText(/^Entry \d/).all()) await summary.click()
    await look()
    assert.deepEqual(dialogs, [])
  }
})

/** A phone, and a way to look: nothing that shuts people out, nothing wider than the screen. */
function baseOf({ workspace }: ActionsUnderTest): string {
  return `/workspaces/${workspace.workspaceId}`
}

/** An agent proposes two changes; the address that it is told to send its person to. */
async function proposed(under: ActionsUnderTest, idempotency_key: string): Promise<string> {
  const target = (position: number) => ({ type: 'campaign', id: under.entityId(position) })
  const actions = [
    {
      type: 'increase_budget',
      params: { new_daily_budget_minor: 13_500 },
      target_entity: target(1),
      rationale: 'It sells.',
    },
    { type: 'pause', params: {}, target_entity: target(2), rationale: 'It does not sell.' },
  ]
  const body = proposalOf('1', { actions, idempotency_key })
  const reply = await under.ask('POST', '/actions', { body })
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
  // The budget was raised in the first proposal, so that the same one of the second is stale.
  await page.getByText('It was changed elsewhere since this was proposed').waitFor()
  await look()
  await page.getByLabel('Your reason').fill('Once is enough.')
  await page.getByRole('button', { name: 'Reject' }).click()
  await page.getByText('Your decision is kept').waitFor()
}
