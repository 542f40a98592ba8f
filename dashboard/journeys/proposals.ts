import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import type { Page } from 'playwright-core'
import {
  type AgentActionsFixture,
  approvalsPath,
  BUDGET_INCREASE,
  buildBudgetProposal,
  setExecutionMode,
  startAgentActionsFixture,
} from '../../testing/fixtures/agent-actions.ts'
import { addMember, createTestUser, type TestUser } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

export const PHONE = { width: 390, height: 844 }
export const REASON = 'It was planned.'

export function openAs(
  test: TestContext,
  { service }: AgentActionsFixture,
  person: TestUser,
  expectedStatuses: readonly number[] = [],
) {
  return openJourneyPage(test, { service, person, expectedStatuses })
}

export async function openProposal(
  page: Page,
  fixture: AgentActionsFixture,
  id: number,
): Promise<void> {
  await page.goto(`${fixture.service.url}${approvalsPath(fixture)}/${id}`)
  await page.getByText('Evidence of the agent').waitFor()
}

/** Chooses, writes the reason that is asked for then, and waits until it is saved. */
export async function decide(
  page: Page,
  choice: 'Approve' | 'Reject',
  reason: string,
): Promise<void> {
  await page.getByRole('button', { name: choice }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your reason').fill(reason)
  await dialog.getByRole('button', { name: choice }).click()
  await page.getByText('Your decision is saved').waitFor()
}

export async function join({ service, workspace }: AgentActionsFixture, role: WorkspaceRole) {
  const person = await createTestUser(service)
  const { workspaceId } = workspace
  await addMember(service, { workspaceId, userId: person.userId, role })
  return person
}

export async function propose(
  fixture: AgentActionsFixture,
  actions: object[],
  members: object = {},
) {
  const body = buildBudgetProposal('1', { actions, ...members })
  const reply = await fixture.request('POST', '/actions', { body })
  assert.equal(reply.status, 201, reply.text)
}

/** Two changes, each in a proposal of its own or both in one, where the approved is executed. */
export async function startProposals(
  test: TestContext,
  perProposal = 1,
): Promise<AgentActionsFixture> {
  // Cookies expire by the real clock of the browser.
  const fixture = await startAgentActionsFixture(test, { startAt: new Date().toISOString() })
  await setExecutionMode(fixture, 'ask')
  const target = (position: number) => ({ type: 'campaign', id: fixture.entityId(position) })
  const raise = { ...BUDGET_INCREASE, target_entity: target(1) }
  const pause = { type: 'pause', params: {}, target_entity: target(2), rationale: 'No sales.' }
  if (perProposal === 2) await propose(fixture, [raise, pause])
  else {
    await propose(fixture, [raise], { idempotency_key: 'raise' })
    await propose(fixture, [pause], { idempotency_key: 'pause' })
  }
  return fixture
}
