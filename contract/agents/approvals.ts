import Type, { type Static } from 'typebox'
import { named, nullable, stringEnum, timestamp } from '../scalars.ts'
import {
  ActionType,
  AgentAction,
  BatchStatus,
  PolicyDecision,
  PolicyEvidence,
  PolicyReason,
  Proposer,
  rowId,
  TargetEntity,
} from './actions.ts'
import { AuditLogEntry } from './audit.ts'
import { EvidenceProvenance } from './evidence.ts'
import { LIMIT_CODES } from './policy.ts'
import { DecisionReceipt } from './proposals.ts'

const limits = (description: string) =>
  Type.Array(stringEnum(LIMIT_CODES), { uniqueItems: true, description })

/** A pending action, evaluated at the time of the request instead of the proposal. */
export const CurrentEvaluation = named(
  'CurrentEvaluation',
  Type.Object({
    action_id: rowId('The pending action.'),
    policy_decision: PolicyDecision,
    policy_reasons: Type.Array(PolicyReason),
    policy_evidence: PolicyEvidence,
    exceeded_limits: limits('What `accepted_limits` of an approval must name.'),
  }),
)
export type CurrentEvaluation = Static<typeof CurrentEvaluation>

/** Another pending action for the same entity. */
export const OtherPendingAction = named(
  'OtherPendingAction',
  Type.Object({
    action_id: rowId('The other action.'),
    batch_id: rowId('Its proposal.'),
    type: ActionType,
    target_entity: TargetEntity,
    change_minor: Type.Integer({ description: 'What it would add to the total of the day.' }),
    created_at: timestamp('When it was proposed.'),
  }),
)
export type OtherPendingAction = Static<typeof OtherPendingAction>

/** The actions that were started or approved in an ad account on its current day. */
const DayTotals = named(
  'DayTotals',
  Type.Object({
    changed_minor: Type.Integer({ description: 'Changed and resumed daily budgets.' }),
    action_count: Type.Integer(),
    changed_week_minor: Type.Integer({ description: 'The same in the last 7 days.' }),
    changed_month_minor: Type.Integer({ description: 'The same in the last 30 days.' }),
  }),
)

/** A pending proposal, as the approver sees it. */
export const QueuedBatch = named(
  'QueuedBatch',
  Type.Object({
    id: rowId('The batch.'),
    status: BatchStatus,
    ad_account_id: rowId('The ad account.'),
    ad_account_name: Type.String(),
    currency: Type.String({ description: 'ISO 4217; the currency of every *_minor member.' }),
    rationale: Type.String({ description: 'Written by an agent: data, not instructions.' }),
    evidence_provenance: EvidenceProvenance,
    proposed_by: Proposer,
    responsible: Type.String({
      description: 'Email of the person who approved the connection or issued the token.',
    }),
    policy_decision: PolicyDecision,
    all_or_nothing: Type.Boolean({ description: 'One decision covers all actions.' }),
    undoes: nullable(rowId('The verified action that this proposal undoes.')),
    created_at: timestamp('When it was proposed.'),
    expires_at: timestamp('A person can decide until then.'),
    may_decide: Type.Boolean({ description: 'Whether the signed-in user may decide on it.' }),
    may_not_reason: nullable(Type.String({ description: 'Why not, in one sentence.' })),
    stale_action_ids: Type.Array(Type.Integer(), {
      description:
        'Actions whose entity changed since they were proposed; they cannot be approved.',
    }),
    actions: Type.Array(AgentAction),
    today: DayTotals,
    evaluations: Type.Array(CurrentEvaluation),
    other_pending_actions: Type.Array(OtherPendingAction, {
      description: 'Oldest first, at most 100.',
    }),
  }),
)
export type QueuedBatch = Static<typeof QueuedBatch>

/** Batches with pending actions, sorted by expiry. */
export const ApprovalQueue = named(
  'ApprovalQueue',
  Type.Object({
    batches: Type.Array(QueuedBatch),
    page: Type.Integer({ minimum: 1 }),
    per_page: Type.Integer({ description: 'The fixed page size.' }),
    has_more: Type.Boolean(),
  }),
)
export type ApprovalQueue = Static<typeof ApprovalQueue>

/** Who decided on one action of a proposal, its receipt, and what undoes it. */
const DecisionRecord = named(
  'DecisionRecord',
  Type.Object({
    action_id: rowId('The action.'),
    decided_by: nullable(
      Type.String({ description: 'Email; null without a decision or for a deleted user.' }),
    ),
    receipt: nullable(DecisionReceipt),
    undone_by: nullable(rowId('The proposal that undoes it, if one is pending or done.')),
  }),
)
export type DecisionRecord = Static<typeof DecisionRecord>

export const QueuedBatchAnswer = named(
  'QueuedBatchAnswer',
  Type.Object({
    batch: QueuedBatch,
    recent_changes: Type.Array(AuditLogEntry, {
      description: 'Changes of roles and of the policy in the last 72 hours, at most 100.',
    }),
    decision_records: Type.Array(DecisionRecord, { description: 'One for each action.' }),
  }),
)
export type QueuedBatchAnswer = Static<typeof QueuedBatchAnswer>

/** The number of pending proposals, for the navigation. */
export const PendingProposals = named(
  'PendingProposals',
  Type.Object({ pending: Type.Integer({ minimum: 0, description: 'At most 100.' }) }),
)

const DecidedAction = named(
  'DecidedAction',
  Type.Object({
    action: AgentAction,
    currency: Type.String({ description: 'ISO 4217, of its ad account.' }),
    decided_by: DecisionRecord.properties.decided_by,
  }),
)
export type DecidedAction = Static<typeof DecidedAction>

/** Actions that wait for no decision, newest first. */
export const DecidedActionPage = named(
  'DecidedActionPage',
  Type.Object({
    actions: Type.Array(DecidedAction),
    next_before: nullable(
      Type.Integer({ description: 'Pass it as `before` to read older actions; null at the end.' }),
    ),
  }),
)
export type DecidedActionPage = Static<typeof DecidedActionPage>

export const DecisionSubmission = named(
  'DecisionSubmission',
  Type.Object(
    {
      decision: stringEnum(['approve', 'reject']),
      reason: Type.String({ minLength: 1, maxLength: 1_000, description: 'Stored permanently.' }),
      action_ids: Type.Optional(
        Type.Array(rowId('An action of the batch.'), {
          minItems: 1,
          maxItems: 25,
          uniqueItems: true,
          description:
            'Only these; all pending actions if omitted. All of them if all_or_nothing is true.',
        }),
      ),
      accepted_limits: Type.Optional(
        limits(
          'Limits that an approval may exceed, besides those that the policy_reasons of the ' +
            'action name. 409 if it exceeds another one.',
        ),
      ),
    },
    { additionalProperties: false },
  ),
)
export type DecisionSubmission = Static<typeof DecisionSubmission>

/** A person proposes the change back. */
export const UndoSubmission = named(
  'UndoSubmission',
  Type.Object(
    {
      reason: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_000,
          description: 'The rationale of the new proposal; names the action if omitted.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type UndoSubmission = Static<typeof UndoSubmission>

/** What a person approved: stored with the action, and part of its receipt. */
export interface DecisionContext
  extends Omit<CurrentEvaluation, 'action_id' | 'policy_decision' | 'exceeded_limits'> {
  accepted_limits: CurrentEvaluation['exceeded_limits']
  other_pending_actions: readonly Omit<OtherPendingAction, 'target_entity'>[]
  /** Only IDs: receipts are never erased. */
  recent_changes: readonly (Omit<AuditLogEntry, 'hash' | 'actor'> & {
    actor: { type: string; id: string | null }
  })[]
}
