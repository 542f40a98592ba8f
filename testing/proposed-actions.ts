import assert from 'node:assert/strict'
import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import { type ActionsUnderTest, proposalOf } from './actions-under-test.ts'
import { sendForm } from './send-form.ts'

/** Raises the budget of a campaign; its target has to be named. */
export const RAISE = {
  type: 'increase_budget',
  params: { new_daily_budget_minor: 13_500 },
  rationale: 'It sells.',
}

export function queueOf({ workspace }: ActionsUnderTest): string {
  return `/workspaces/${workspace.workspaceId}/approvals`
}

/** An agent proposes; the path of the page on which people decide. */
export async function proposed(under: ActionsUnderTest, actions: object[]): Promise<string> {
  const body = proposalOf(under.entityId(1), { actions })
  const reply = await under.ask('POST', '/actions', { body })
  assert.equal(reply.status, 201, reply.text)
  return new URL(reply.body.proposal.inbox_url).pathname
}

export function proposedOne(under: ActionsUnderTest): Promise<string> {
  return proposed(under, [{ ...RAISE, target_entity: { type: 'campaign', id: under.entityId(1) } }])
}

/** An owner sets the policy for the first time, as the page does. */
export async function setMode({ workspace }: ActionsUnderTest, mode: string): Promise<void> {
  const saved = await sendForm(
    workspace.owner.client,
    `/workspaces/${workspace.workspaceId}/policy`,
    [
      ['version', '0'],
      ['execution_mode', mode],
      ...ACTION_TYPES.map(type => ['allowed_types', type] as const),
    ],
  )
  assert.match(saved.text, /The policy is saved/)
}
