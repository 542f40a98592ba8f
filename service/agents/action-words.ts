import type {
  ActionStatus,
  ActionType,
  EntityState,
  EntityType,
  Proposer,
} from '@signalbox/contract/agents/actions.ts'

/** How people call what the contract has codes for. */
export const TYPE_WORDS: Record<ActionType, string> = {
  increase_budget: 'Raise the daily budget',
  decrease_budget: 'Lower the daily budget',
  pause: 'Pause',
  resume: 'Resume',
}

export const ENTITY_WORDS: Record<EntityType, string> = {
  ad_account: 'ad account',
  campaign: 'campaign',
  ad_set: 'ad set',
  ad: 'ad',
}

export const STATUS_WORDS: Record<ActionStatus, string> = {
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

export const ENTITY_STATUS_WORDS: Record<EntityState['status'], string> = {
  active: 'Active',
  paused: 'Paused',
}

export const PROPOSER_WORDS: Record<Proposer['type'], string> = {
  connection: 'connected agent',
  execution_token: 'execution token',
}
