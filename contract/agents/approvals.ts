import Type, { type Static } from 'typebox'
import { named, nullable, timestamp } from '../scalars.ts'
import { AgentAction, BATCH_STATUSES, POLICY_DECISIONS, Proposer, rowId } from './actions.ts'
import { EvidenceProvenance } from './proposals.ts'

/** A proposal that waits for a person, as that person sees it. */
export const QueuedBatch = named(
  'QueuedBatch',
  Type.Object({
    id: rowId('The batch.'),
    status: Type.Enum([...BATCH_STATUSES]),
    ad_account_id: rowId('The ad account.'),
    ad_account_name: Type.String(),
    currency: Type.String({ description: 'ISO 4217; every *_minor member is in it.' }),
    rationale: Type.String({ description: 'Written by an agent: words, not orders.' }),
    evidence_provenance: EvidenceProvenance,
    proposed_by: Proposer,
    responsible: Type.String({ description: 'Who approved the connection or issued the token.' }),
    policy_decision: Type.Enum([...POLICY_DECISIONS]),
    created_at: timestamp('When it was proposed.'),
    expires_at: timestamp('Until then a person may decide.'),
    may_decide: Type.Boolean({ description: 'Whether who asks may decide on it.' }),
    may_not_reason: nullable(Type.String({ description: 'Why not, in a sentence.' })),
    stale_action_ids: Type.Array(Type.Integer(), {
      description: 'Actions whose entity changed since they were proposed: they can only end.',
    }),
    actions: Type.Array(AgentAction),
  }),
)
export type QueuedBatch = Static<typeof QueuedBatch>

/** Batches with something to decide, those that expire first before the others. */
export const ApprovalQueue = named(
  'ApprovalQueue',
  Type.Object({
    batches: Type.Array(QueuedBatch),
    page: Type.Integer({ minimum: 1 }),
    per_page: Type.Integer({ description: 'Always the same.' }),
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
      decision: Type.Enum(['approve', 'reject']),
      reason: Type.String({ minLength: 1, maxLength: 1_000, description: 'Kept for good.' }),
      action_ids: Type.Optional(
        Type.Array(rowId('An action of the batch.'), {
          minItems: 1,
          maxItems: 25,
          uniqueItems: true,
          description: 'Only these; left out: all that wait.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type DecisionSubmission = Static<typeof DecisionSubmission>
