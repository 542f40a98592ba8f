import type {
  ActionStatus,
  ActionType,
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

export const EXECUTION_MODE_LABELS: Record<
  ExecutionMode,
  readonly [name: string, description: string]
> = {
  suggest_only: [
    'Suggest only',
    'Agents propose and people decide. Nothing is executed here: you make approved changes on ' +
      'the platform yourself.',
  ],
  ask: ['Ask', 'Agents propose. Changes that a person approves are executed immediately.'],
  auto_with_limits: [
    'Automatic within limits',
    'Changes within the limits below and outside the quiet hours are executed without approval. ' +
      'Other changes require approval.',
  ],
}

const EXECUTED = 'Approved changes are executed and verified immediately.'

/** The effect of an approval, shown next to the button. */
export const APPROVAL_EFFECTS: Record<ExecutionMode, string> = {
  suggest_only:
    'Nothing is executed here, because the policy of this workspace is Suggest only. Make ' +
    'approved changes on the platform yourself.',
  ask: EXECUTED,
  auto_with_limits: EXECUTED,
}
