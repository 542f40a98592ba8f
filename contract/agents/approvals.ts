import Type, { type Static } from 'typebox'
import { named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { AgentAction, BatchStatus, PolicyDecision, Proposer, rowId } from './actions.ts'
import { EvidenceProvenance } from './proposals.ts'

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
    responsible: Type.String({ description: 'Who approved the connection or issued the token.' }),
    policy_decision: PolicyDecision,
    created_at: timestamp('When it was proposed.'),
    expires_at: timestamp('A person can decide until then.'),
    may_decide: Type.Boolean({ description: 'Whether the signed-in user may decide on it.' }),
    may_not_reason: nullable(Type.String({ description: 'Why not, in one sentence.' })),
    stale_action_ids: Type.Array(Type.Integer(), {
      description:
        'Actions whose entity changed since they were proposed; they cannot be approved.',
    }),
    actions: Type.Array(AgentAction),
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

export const QueuedBatchAnswer = named('QueuedBatchAnswer', Type.Object({ batch: QueuedBatch }))
export type QueuedBatchAnswer = Static<typeof QueuedBatchAnswer>

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
          description: 'Only these; all pending actions if omitted.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type DecisionSubmission = Static<typeof DecisionSubmission>
