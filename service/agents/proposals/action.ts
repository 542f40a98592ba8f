import type {
  ActionOutcome,
  ActionStatus,
  ActionSubmission,
  ActionType,
  EntityState,
  EntityType,
  PolicyDecision,
  PolicyEvidence,
  PolicyReason,
} from '@signalbox/contract/agents/actions.ts'
import type { AgentPrincipal } from '../../oauth/authenticate-agent.ts'

/** One proposed change, with everything that happened to it. */
export interface Action extends NewAction {
  id: number
  batchId: number
  outcome: ActionOutcome | null
  /** Read after the execution. */
  after: EntityState | null
  decidedBy: number | null
  decidedAt: Date | null
  decisionReason: string | null
  executedAt: Date | null
  finishedAt: Date | null
  updatedAt: Date
  proposer: ActionProposer
  /** Until then a person may decide. */
  expiresAt: Date
}

/** As it is when it was judged, before it has an id. */
export interface NewAction {
  position: number
  workspaceId: number
  adAccountId: number
  type: ActionType
  target: { type: EntityType; id: string; name: string | null }
  params: ActionSubmission['params']
  rationale: string
  status: ActionStatus
  policyDecision: PolicyDecision
  policyReasons: readonly PolicyReason[]
  policyEvidence: PolicyEvidence
  /** Null: the ad account has no such entity. */
  before: EntityState | null
  proposed: EntityState | null
  /** How much a day the budget moves, in minor units; 0 for no budget. */
  changeMinor: number
  /** Set when it begins to be carried out. */
  executionStartedAt: Date | null
  createdAt: Date
}

export interface ActionProposer {
  kind: 'connection' | 'execution_token'
  id: number
  name: string
  /** Who approved the connection or issued the token. */
  personId: number
}

/**
 * Every move that an action's status can make; `docs/states.md` is the picture. A status without
 * moves is final and has a receipt.
 */
export const ACTION_TRANSITIONS = {
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
export const INITIAL_STATUS_BY_DECISION = {
  require_approval: 'pending',
  allow: 'executing',
  block: 'blocked',
} as const satisfies Record<PolicyDecision, ActionStatus>

/** An action is born in one of these. */
export const INITIAL_ACTION_STATUSES: readonly ActionStatus[] = Object.values(
  INITIAL_STATUS_BY_DECISION,
)

export function isFinal(status: ActionStatus): boolean {
  return nextStatuses(status).length === 0
}

export function canTransition(from: ActionStatus, to: ActionStatus): boolean {
  return nextStatuses(from).includes(to)
}

function nextStatuses(status: ActionStatus): readonly ActionStatus[] {
  return ACTION_TRANSITIONS[status]
}

/** Where an action goes, and why. */
export interface ActionTransition {
  to: ActionStatus
  outcome: ActionOutcome | null
}

/** Who proposes when this credential does, by the name that it has at this moment. */
export function toProposer(principal: AgentPrincipal): ActionProposer {
  const { kind, personId } = principal
  return kind === 'connection'
    ? { kind, id: principal.connectionId, name: principal.connectionName, personId }
    : { kind, id: principal.tokenId, name: principal.tokenName, personId }
}
