import type {
  ActionOutcome,
  ActionStatus,
  AgentAction,
} from '@signalbox/contract/agents/actions.ts'

/**
 * What became of an action and what is left to do, for people: the explanation that agents get
 * tells an agent what to do.
 */
export function resultWords({ status, outcome }: Pick<AgentAction, 'status' | 'outcome'>): string {
  const cause =
    outcome !== null && Object.hasOwn(CAUSES, outcome) ? (outcome as ActionOutcome) : null
  return cause === null ? ENDINGS[status] : `${ENDINGS[status]} ${CAUSES[cause]}`
}

const LOOK = 'Look at the ad account yourself.'

const ENDINGS: Record<ActionStatus, string> = {
  pending: 'It waits for a decision.',
  rejected: 'Nothing was changed.',
  approved_without_execution: 'Nothing was changed here: carry it out at the platform yourself.',
  executing: 'Load this page again in a moment.',
  executed_pending_verification: 'Load this page again in a moment.',
  verified: 'It was read back afterwards and is as proposed.',
  failed: 'Nothing was changed.',
  execution_uncertain: `It was carried out, and something else was read back. ${LOOK}`,
  rolled_back: 'It did not work as proposed, and what was there before was put back.',
  blocked: 'The policy does not allow it. Nothing was changed.',
}

const CAUSES: Record<ActionOutcome, string> = {
  expired: 'Its time was over before anybody decided.',
  stale: 'What it was about was changed elsewhere after the proposal.',
  proposer_revoked: 'The agent that proposed it may not act any more.',
  policy_changed: 'The policy was changed after the proposal.',
  account_changed: 'The ad account was disabled after the proposal.',
  not_applied: 'The platform did not apply it.',
  changed_elsewhere: 'Somebody else changed the same thing at that moment.',
}
