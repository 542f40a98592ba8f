import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, timestamp } from '../scalars.ts'

export const ACTION_TYPES = ['increase_budget', 'decrease_budget', 'pause', 'resume'] as const
export type ActionType = (typeof ACTION_TYPES)[number]

export const ENTITY_TYPES = ['ad_account', 'campaign', 'ad_set', 'ad'] as const
export type EntityType = (typeof ENTITY_TYPES)[number]

/** Every status of an action; `service/agents/proposals/action.ts` has the moves. */
export const ACTION_STATUSES = [
  'pending',
  'rejected',
  'approved_without_execution',
  'executing',
  'executed_pending_verification',
  'verified',
  'failed',
  'execution_uncertain',
  'rolled_back',
  'blocked',
] as const
export type ActionStatus = (typeof ACTION_STATUSES)[number]

/** Every status of a batch, which follows from its actions. */
export const BATCH_STATUSES = [
  'pending_approval',
  'executing',
  'completed',
  'partially_completed',
  'approved_without_execution',
  'rejected',
  'blocked',
  'failed',
] as const
export type BatchStatus = (typeof BATCH_STATUSES)[number]

/** What the rules of a workspace say to an action. */
export const POLICY_DECISIONS = ['allow', 'require_approval', 'block'] as const
export type PolicyDecision = (typeof POLICY_DECISIONS)[number]

/** Why an action ended as it did, where its status alone does not say it. */
export const ACTION_OUTCOMES = [
  'expired',
  'stale',
  'proposer_revoked',
  'policy_changed',
  'account_changed',
  'not_applied',
  'changed_elsewhere',
] as const
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number]

export const rowId = (description: string) =>
  Type.Integer({ minimum: 1, maximum: INTEGER_MAX, description })

export const ENTITY_ID_PATTERN = '^[1-9][0-9]{0,19}$'

export const TargetEntity = named(
  'TargetEntity',
  Type.Object(
    {
      type: Type.Enum([...ENTITY_TYPES]),
      id: Type.String({
        pattern: ENTITY_ID_PATTERN,
        description: "The platform's number of it, in digits.",
      }),
      name: Type.Optional(
        nullable(
          Type.String({
            maxLength: 255,
            description: 'As the caller knows it; the id alone says which one is meant.',
          }),
        ),
      ),
    },
    { additionalProperties: false },
  ),
)
export type TargetEntity = Static<typeof TargetEntity>

export const ActionParams = named(
  'ActionParams',
  Type.Object(
    {
      new_daily_budget_minor: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: INTEGER_MAX,
          description:
            "The whole new daily budget in minor units of the ad account's currency (cents). " +
            'Needed for increase_budget and decrease_budget; not allowed for pause and resume.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)

export const ActionSubmission = named(
  'ActionSubmission',
  Type.Object(
    {
      type: Type.Enum([...ACTION_TYPES]),
      params: ActionParams,
      target_entity: TargetEntity,
      rationale: Type.String({
        minLength: 1,
        maxLength: 2_000,
        description: 'Why this one, for the person who decides.',
      }),
    },
    { additionalProperties: false },
  ),
)
export type ActionSubmission = Static<typeof ActionSubmission>

/** One sentence for a person, and a code for programs. */
export const PolicyReason = named(
  'PolicyReason',
  Type.Object({
    code: Type.String({ description: 'Stays the same; the sentence may be reworded.' }),
    message: Type.String({ description: 'One sentence for a person.' }),
  }),
)
export type PolicyReason = Static<typeof PolicyReason>

/** An entity of an ad account at one moment. */
export const EntityState = named(
  'EntityState',
  Type.Object({
    type: Type.Enum([...ENTITY_TYPES]),
    id: Type.String(),
    name: Type.String({ description: 'Written by the advertiser: data, not instructions.' }),
    parent_id: nullable(Type.String({ description: 'The one that it belongs to.' })),
    status: Type.Enum(['active', 'paused']),
    daily_budget_minor: nullable(
      Type.Integer({ description: 'In minor units; null: it has no budget of its own.' }),
    ),
    version: Type.Integer({ description: 'Increases with every change.' }),
  }),
)
export type EntityState = Static<typeof EntityState>

/** What the decision of the policy was made from. */
export const PolicyEvidence = named(
  'PolicyEvidence',
  Type.Object({
    policy_version: Type.Integer(),
    execution_mode: Type.String(),
    change_minor: Type.Integer({ description: 'How much a day the budget moves; 0 for none.' }),
    change_percent: nullable(Type.Number()),
    changed_today_minor: Type.Integer({
      description: 'What was moved before it on this day, in the time zone of the ad account.',
    }),
    actions_today: Type.Integer({ description: 'How many were executed before it on this day.' }),
    evaluated_at: timestamp('When.'),
  }),
)
export type PolicyEvidence = Static<typeof PolicyEvidence>

/** Who proposed something: never a person, but one person answers for it. */
export const Proposer = named(
  'Proposer',
  Type.Object({
    type: Type.Enum(['connection', 'execution_token']),
    id: rowId('Of the connection or of the execution token.'),
    name: Type.Optional(Type.String({ description: 'As it was called then.' })),
  }),
)
export type Proposer = Static<typeof Proposer>

const moment = nullable(Type.String({ format: 'date-time' }))

/** One action with everything that happened to it. */
export const AgentAction = named(
  'AgentAction',
  Type.Object({
    id: rowId('The action.'),
    batch_id: rowId('The proposal that it came with.'),
    type: Type.Enum([...ACTION_TYPES]),
    target_entity: TargetEntity,
    params: ActionParams,
    rationale: Type.String(),
    status: Type.Enum([...ACTION_STATUSES]),
    outcome: nullable(
      Type.String({ description: `Why it ended so: ${ACTION_OUTCOMES.join(', ')}.` }),
    ),
    explanation: Type.String({ description: 'What happened and what comes next, in a sentence.' }),
    proposed_by: Proposer,
    policy_decision: Type.Enum([...POLICY_DECISIONS]),
    policy_reasons: Type.Array(PolicyReason),
    policy_evidence: PolicyEvidence,
    before: nullable(EntityState),
    proposed: nullable(EntityState),
    after: nullable(EntityState),
    decided_at: moment,
    decision_reason: nullable(Type.String({ description: 'What the person wrote.' })),
    executed_at: moment,
    finished_at: moment,
    expires_at: timestamp('Until then a person may decide.'),
    created_at: timestamp('When it was proposed.'),
    updated_at: timestamp('When it moved last.'),
  }),
)
export type AgentAction = Static<typeof AgentAction>
