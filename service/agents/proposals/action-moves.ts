import type {
  ActionOutcome,
  ActionStatus,
  PolicyDecision,
} from '@signalbox/contract/agents/actions.ts'

/**
 * Every move that an action's status can make; `docs/states.md` is the picture. A status without
 * moves is final and has a receipt.
 */
export const ACTION_MOVES = {
  pending: ['rejected', 'approved_without_execution', 'executing', 'blocked'],
  executing: ['executed_pending_verification', 'failed'],
  executed_pending_verification: ['verified', 'rolled_back', 'execution_uncertain'],
  rejected: [],
  approved_without_execution: [],
  verified: [],
  failed: [],
  execution_uncertain: [],
  rolled_back: [],
  blocked: [],
} as const satisfies Record<ActionStatus, readonly ActionStatus[]>

/** How an action is born, by what the policy says. */
export const BORN_STATUSES = {
  require_approval: 'pending',
  allow: 'executing',
  block: 'blocked',
} as const satisfies Record<PolicyDecision, ActionStatus>

/** An action is born in one of these. */
export const ACTION_BIRTHS: readonly ActionStatus[] = Object.values(BORN_STATUSES)

export function isFinal(status: ActionStatus): boolean {
  return nextStatuses(status).length === 0
}

export function mayMove(from: ActionStatus, to: ActionStatus): boolean {
  return nextStatuses(from).includes(to)
}

function nextStatuses(status: ActionStatus): readonly ActionStatus[] {
  return ACTION_MOVES[status]
}

/** Where an action goes, and why. */
export interface ActionMove {
  to: ActionStatus
  outcome: ActionOutcome | null
}
