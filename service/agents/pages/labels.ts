import type {
  ActionStatus,
  ActionType,
  EntityState,
  EntityType,
  Proposer,
} from '@signalbox/contract/agents/actions.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'

/** How people call what the contract has codes for. */
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
  pending: 'Waits for a decision',
  rejected: 'Rejected',
  approved_without_execution: 'Approved, not carried out',
  executing: 'Is being carried out',
  executed_pending_verification: 'Carried out, being checked',
  verified: 'Carried out and checked',
  failed: 'Failed',
  execution_uncertain: 'Look at it yourself',
  rolled_back: 'Taken back',
  blocked: 'Blocked',
}

export const ENTITY_STATUS_LABELS: Record<EntityState['status'], string> = {
  active: 'Active',
  paused: 'Paused',
}

export const PROPOSER_LABELS: Record<Proposer['type'], string> = {
  connection: 'connected agent',
  execution_token: 'execution token',
}

/** What each mode is called, and what it means for whoever chooses it. */
export const EXECUTION_MODE_LABELS: Record<
  ExecutionMode,
  readonly [name: string, meaning: string]
> = {
  suggest_only: [
    'Suggest only',
    'Agents propose, people decide, and nothing is carried out here: you do it yourself at the ' +
      'platform.',
  ],
  ask: ['Ask', 'Agents propose, and what a person approves is carried out at once.'],
  auto_with_limits: [
    'Automatic within limits',
    'What is within the limits below, and not in the quiet hours, is carried out at once without ' +
      'asking. A person decides on the rest.',
  ],
}

const CARRIED_OUT = 'What you approve is carried out at once, and then checked.'

/** What approving does, said beside the button. */
export const APPROVAL_EFFECTS: Record<ExecutionMode, string> = {
  suggest_only:
    'Nothing is carried out here: the policy of this workspace is to suggest only. What you ' +
    'approve is yours to do at the platform.',
  ask: CARRIED_OUT,
  auto_with_limits: CARRIED_OUT,
}
