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
import type { DecisionContext } from '@signalbox/contract/agents/approvals.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'

/** One proposed change with its history. */
export interface Action extends NewAction {
  id: number
  batchId: number
  outcome: ActionOutcome | null
  /** State read after the execution. */
  after: EntityState | null
  decidedBy: number | null
  decidedAt: Date | null
  decisionReason: string | null
  /** What a user approved; null without an approval, and for those of earlier versions. */
  decisionContext: DecisionContext | null
  executedAt: Date | null
  finishedAt: Date | null
  /** Null until the executor commits that it asks the platform for the change. */
  changeRequest: ChangeRequest | null
  /** Null unless the executor asks the platform to restore the previous state. */
  rollbackRequestedAt: Date | null
  updatedAt: Date
  proposer: ActionProposer
  /** Executed only with all other actions of its batch. */
  isAllOrNothing: boolean
  /** When the approval period ends. */
  expiresAt: Date
}

/** The committed intent to change an entity. A resumed execution repeats it without a new check. */
export interface ChangeRequest {
  requestedAt: Date
  /** The version of the policy that allowed it. */
  policyVersion: number
  /** How often the change was sent, including a call that is running. */
  attempts: number
}

/** An evaluated action that is not stored yet. */
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
  /** Null if the ad account has no such entity. */
  before: EntityState | null
  proposed: EntityState | null
  /** Absolute change of the daily budget, in minor units; 0 if it does not change. */
  changeMinor: number
  executionStartedAt: Date | null
  createdAt: Date
}

export interface ActionProposer {
  /** A user proposes only to undo an action; the ID is that of the user then. */
  kind: 'connection' | 'execution_token' | 'person'
  id: number
  name: string
  /** Who approved the connection or issued the token. */
  userId: number
}

/**
 * Every transition of an action's status; `docs/states.md` has the diagram. A status without
 * transitions is final and has a receipt.
 */
export const ACTION_TRANSITIONS = {
  pending: ['rejected', 'approved_without_execution', 'executing', 'blocked'],
  executing: ['executed_pending_verification', 'failed', 'execution_uncertain'],
  executed_pending_verification: ['verified', 'rolled_back', 'execution_uncertain'],
  rejected: [],
  approved_without_execution: [],
  verified: [],
  failed: [],
  execution_uncertain: [],
  rolled_back: [],
  blocked: [],
} as const satisfies Record<ActionStatus, readonly ActionStatus[]>

export const INITIAL_STATUS_BY_DECISION = {
  require_approval: 'pending',
  allow: 'executing',
  block: 'blocked',
} as const satisfies Record<PolicyDecision, ActionStatus>

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

/** Whether an action of an all-or-nothing batch ended without being verified, or is set back. */
export function hasFailedBatch(actions: readonly Action[]): boolean {
  return actions.some(
    ({ status, rollbackRequestedAt }) =>
      rollbackRequestedAt !== null || (isFinal(status) && status !== 'verified'),
  )
}

export interface ActionTransition {
  to: ActionStatus
  outcome: ActionOutcome | null
}

/** The proposer that a credential stands for, with its current name. */
export function toProposer(principal: AgentPrincipal): ActionProposer {
  const { kind, userId } = principal
  return kind === 'connection'
    ? { kind, id: principal.connectionId, name: principal.connectionName, userId }
    : { kind, id: principal.tokenId, name: principal.tokenName, userId }
}
