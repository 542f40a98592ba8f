import type { ActionOutcome, ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type { Action } from './action.ts'

/** What happened to an action and what comes next, in words of ours alone. */
export function actionExplanation({
  status,
  outcome,
  expiresAt,
}: Pick<Action, 'status' | 'outcome' | 'expiresAt'>): string {
  if (status === 'pending') {
    const until = expiresAt.toISOString()
    return `It waits for a person, who may decide until ${until}; read it again later.`
  }
  if (outcome !== null) return `${ENDINGS[status]} ${CAUSES[outcome]}`
  return `${ENDINGS[status]} ${NEXT[status]}`
}

type Moved = Exclude<ActionStatus, 'pending'>

const ENDINGS: Record<Moved, string> = {
  rejected: 'It was rejected and nothing was changed.',
  approved_without_execution: 'A person approved it, and nothing was changed here.',
  executing: 'It is being carried out.',
  executed_pending_verification: 'It was carried out and is being read back.',
  verified: 'It was carried out, and reading it back showed the proposed state.',
  failed: 'It was not carried out: nothing was changed.',
  execution_uncertain: 'It was carried out, and reading it back showed something else.',
  rolled_back: 'It did not take effect as proposed, and the state from before was put back.',
  blocked: 'The policy of the workspace blocked it and nothing was changed.',
}

const READ_ANEW = 'Read the account state again, and propose anew if it is still wanted.'

/** What comes next where the status says why. */
const NEXT: Record<Moved, string> = {
  rejected: 'decision_reason has why; do not propose it again unless a person asks for it.',
  approved_without_execution: 'The workspace takes suggestions only: a person carries it out.',
  executing: 'Read it again in a moment.',
  executed_pending_verification: 'Read it again in a moment.',
  verified: 'Nothing is left to do.',
  failed: READ_ANEW,
  execution_uncertain: 'A person has to look at the ad account; do not try again by yourself.',
  rolled_back: 'A person should look at why before it is proposed again.',
  blocked: 'policy_reasons has why; propose something that the policy allows.',
}

const CAUSES: Record<ActionOutcome, string> = {
  expired: `Nobody decided in time. ${READ_ANEW}`,
  stale: `The entity was changed after this was proposed. ${READ_ANEW}`,
  proposer_revoked:
    'The credential that proposed it was revoked, has expired or belongs to another ad account.',
  policy_changed: 'The policy was changed after this was proposed: read it before proposing anew.',
  account_changed: 'The ad account was disabled after this was proposed.',
  not_applied:
    'The platform did not apply the change. A person should look before it is tried again.',
  changed_elsewhere:
    'Somebody else changed the entity meanwhile. A person has to look at the ad account; do not ' +
    'try again by yourself.',
}
