import type {
  ActionOutcome,
  ActionStatus,
  ActionType,
  AgentAction,
  EntityState,
  EntityType,
  Proposer,
} from '@signalbox/contract/agents/actions.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'

export const ACTION_TYPE_LABELS: Record<ActionType, string> = {
  increase_budget: 'Raise the daily budget',
  decrease_budget: 'Lower the daily budget',
  pause: 'Pause',
  resume: 'Resume',
}

export const ENTITY_TYPE_LABELS: Record<EntityType, string> = {
  ad_account: 'ad account',
  campaign: 'campaign',
  ad_set: 'ad set',
  ad: 'ad',
}

export const ACTION_STATUS_LABELS: Record<ActionStatus, string> = {
  pending: 'Pending approval',
  rejected: 'Rejected',
  approved_without_execution: 'Approved, not executed',
  executing: 'Executing',
  executed_pending_verification: 'Verifying',
  verified: 'Verified',
  failed: 'Failed',
  execution_uncertain: 'Needs review',
  rolled_back: 'Rolled back',
  blocked: 'Blocked',
}

export const ENTITY_STATUS_LABELS: Record<EntityState['status'], string> = {
  active: 'Active',
  paused: 'Paused',
}

export const PROPOSER_LABELS: Record<Proposer['type'], string> = {
  connection: 'connected agent',
  execution_token: 'execution token',
  person: 'person',
}

const EXECUTED = 'Approved changes are executed and verified immediately.'

/** The effect of an approval, shown where it is given. */
export const APPROVAL_EFFECTS: Record<ExecutionMode, string> = {
  suggest_only:
    'Nothing is executed here, because the policy of this workspace is Suggest only. Make ' +
    'approved changes on the platform yourself.',
  ask: EXECUTED,
  auto_with_limits: EXECUTED,
}

/** Who or what decided on an action, before the person and the time. */
export function decisionVerb({ status, outcome, decided_at, policy_decision }: AgentAction) {
  if (decided_at === null) return POLICY_TEXTS[policy_decision]
  if (status !== 'rejected') return 'Approved'
  // An approval can end as rejected, when the entity was changed elsewhere in the meantime.
  return outcome === null ? 'Rejected' : 'Decided'
}

const POLICY_TEXTS: Record<AgentAction['policy_decision'], string> = {
  allow: 'Allowed by the policy',
  block: 'Blocked by the policy',
  require_approval: 'Not decided; proposed',
}

/**
 * The result of an action and the next step for people. The `explanation` of an action addresses
 * agents instead.
 */
export function resultText({ status, outcome }: Pick<AgentAction, 'status' | 'outcome'>): string {
  const known = outcome !== null && Object.hasOwn(OUTCOME_RESULTS, outcome) ? outcome : null
  if (known === null) return STATUS_RESULTS[status]
  if (known === 'batch_failed') return OUTCOME_RESULTS[known]
  return `${STATUS_RESULTS[status]} ${OUTCOME_RESULTS[known]}`
}

const CHECK_YOURSELF = 'Check the ad account yourself.'
const SOON = 'The result is here in a moment.'

const STATUS_RESULTS: Record<ActionStatus, string> = {
  pending: 'It is pending approval.',
  rejected: 'Nothing was changed.',
  approved_without_execution: 'Nothing was changed here: make the change on the platform yourself.',
  executing: SOON,
  executed_pending_verification: SOON,
  verified: 'The change was verified and is as proposed.',
  failed: 'Nothing was changed.',
  execution_uncertain: `It was requested, but the actual state is different. ${CHECK_YOURSELF}`,
  rolled_back: 'It did not take effect as proposed, and the previous state was restored.',
  blocked: 'The policy does not allow it. Nothing was changed.',
}

const OUTCOME_RESULTS: Record<ActionOutcome, string> = {
  expired: 'The approval period ended without a decision.',
  canceled: 'The agent canceled it.',
  stale: 'The entity was changed elsewhere after the proposal.',
  proposer_revoked: 'The agent that proposed it no longer has access.',
  policy_changed: 'The policy was changed after the proposal.',
  account_changed: 'The ad account was disabled after the proposal.',
  not_applied: 'The platform did not apply it.',
  changed_elsewhere: 'The entity was changed elsewhere at the same time.',
  not_executed:
    'It was not executed, because another change of this all-or-nothing proposal failed.',
  batch_failed:
    'It was executed, and the previous state was restored, because another change of this ' +
    'all-or-nothing proposal failed.',
}
