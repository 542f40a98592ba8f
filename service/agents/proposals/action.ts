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
