import Type, { type Static } from 'typebox'
import { named, nullable, timestamp } from '../scalars.ts'
import {
  ACTION_TYPES,
  ActionParams,
  ActionSubmission,
  AgentAction,
  BATCH_STATUSES,
  EntityState,
  POLICY_DECISIONS,
  PolicyEvidence,
  PolicyReason,
  Proposer,
  rowId,
  TargetEntity,
} from './actions.ts'

/** How many actions one proposal may hold. */
export const ACTIONS_MAX = 25

/** Tools whose answers may be named as evidence. */
export const EVIDENCE_TOOLS = [
  'get_account_state',
  'get_performance',
  'get_signal_health',
  'list_actions',
  'get_action',
] as const

export const Evidence = named(
  'Evidence',
  Type.Object(
    {
      source_tool: Type.Enum([...EVIDENCE_TOOLS]),
      fields_used: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        minItems: 1,
        maxItems: 50,
        description: 'Paths into the answer of that tool, such as campaigns.0.daily_budget_minor.',
      }),
      action_index: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: ACTIONS_MAX - 1,
          description: 'Which action it is for, counted from 0; left out: for all of them.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type Evidence = Static<typeof Evidence>

const account = Type.Optional(
  rowId('The ad account of the credential. It may be left out; any other is refused.'),
)
const actions = Type.Array(ActionSubmission, {
  minItems: 1,
  maxItems: ACTIONS_MAX,
  description: 'At most one for each entity.',
})

export const ProposalSubmission = named(
  'ProposalSubmission',
  Type.Object(
    {
      actions,
      rationale: Type.String({
        minLength: 1,
        maxLength: 4_000,
        description: 'Why these changes together, for the person who decides.',
      }),
      idempotency_key: Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'The same key with the same content is the same proposal, however often sent.',
      }),
      evidence: Type.Array(Evidence, { minItems: 1, maxItems: 3 }),
      target_source: Type.Enum(['human_supplied'], {
        description: 'A person named the entities: you did not choose them by yourself.',
      }),
      account_id: account,
    },
    { additionalProperties: false },
  ),
)
export type ProposalSubmission = Static<typeof ProposalSubmission>

export const DryRunSubmission = named(
  'DryRunSubmission',
  Type.Object({ actions, account_id: account }, { additionalProperties: false }),
)
export type DryRunSubmission = Static<typeof DryRunSubmission>

/** What was said of where the figures come from, and whether it can be so. */
export const EvidenceProvenance = named(
  'EvidenceProvenance',
  Type.Object({
    target_source: Type.Literal('human_supplied'),
    evidence: Type.Array(
      Type.Object({
        source_tool: Type.String(),
        fields_used: Type.Array(Type.String()),
        action_index: nullable(Type.Integer()),
        tool_used_at: nullable(
          Type.String({
            format: 'date-time',
            description: 'When this credential used that tool last; null: it never did.',
          }),
        ),
      }),
    ),
  }),
)
export type EvidenceProvenance = Static<typeof EvidenceProvenance>

export const ProposedAction = named(
  'ProposedAction',
  Type.Object({
    id: rowId('The action.'),
    type: Type.Enum([...ACTION_TYPES]),
    target_entity: TargetEntity,
    params: ActionParams,
    rationale: Type.String(),
    proposed_by: Proposer,
    policy_decision: Type.Enum([...POLICY_DECISIONS]),
    policy_reasons: Type.Array(PolicyReason),
    policy_evidence: PolicyEvidence,
  }),
)

/** Answer of propose-actions. */
export const ProposalResult = named(
  'ProposalResult',
  Type.Object({
    proposal: Type.Object({
      id: rowId('Of the batch: get_action_batch takes it.'),
      scope: Type.Object({
        workspace_id: rowId('The workspace.'),
        ad_account_id: rowId('The one ad account.'),
      }),
      evidence_provenance: EvidenceProvenance,
      status: Type.Enum([...BATCH_STATUSES]),
      policy_decision: Type.Enum([...POLICY_DECISIONS], {
        description: 'The strictest of its actions.',
      }),
      policy_reasons: Type.Array(PolicyReason),
      approval_required: Type.Boolean(),
      inbox_url: Type.String({ format: 'uri', description: 'Where a person decides on this one.' }),
      approval_queue_url: Type.String({ format: 'uri', description: 'All that wait.' }),
      rationale: Type.String(),
      proposed_by: Proposer,
      actions: Type.Array(ProposedAction),
    }),
  }),
)
export type ProposalResult = Static<typeof ProposalResult>

const judged = {
  type: Type.Enum([...ACTION_TYPES]),
  target_entity: TargetEntity,
}

/** Answer of dry_run_actions. Nothing is stored. */
export const DryRunResult = named(
  'DryRunResult',
  Type.Object({
    dry_run: Type.Object({
      actions: Type.Array(
        Type.Union([
          Type.Object({
            ...judged,
            status: Type.Literal('evaluated'),
            policy_decision: Type.Enum([...POLICY_DECISIONS]),
            policy_reasons: Type.Array(PolicyReason),
            approval_required: Type.Boolean(),
            would_auto_execute: Type.Boolean(),
            diff: Type.Object({ before: EntityState, proposed: EntityState }),
          }),
          Type.Object({
            ...judged,
            status: Type.Literal('dry_run_unavailable'),
            reason: Type.String({ description: 'One sentence.' }),
          }),
        ]),
      ),
    }),
  }),
)
export type DryRunResult = Static<typeof DryRunResult>

/** Answer of get_action_batch: a proposal as it is now. */
export const ActionBatch = named(
  'ActionBatch',
  Type.Object({
    batch: Type.Object({
      id: rowId('The batch.'),
      status: Type.Enum([...BATCH_STATUSES]),
      ad_account_id: rowId('The ad account.'),
      idempotency_key: Type.String(),
      rationale: Type.String(),
      evidence_provenance: EvidenceProvenance,
      proposed_by: Proposer,
      policy_decision: Type.Enum([...POLICY_DECISIONS]),
      inbox_url: Type.String({ format: 'uri' }),
      created_at: timestamp('When it was proposed.'),
      expires_at: timestamp('Until then a person may decide.'),
      actions: Type.Array(AgentAction),
    }),
  }),
)
export type ActionBatch = Static<typeof ActionBatch>

export const ActionAnswer = named('ActionAnswer', Type.Object({ action: AgentAction }))
export type ActionAnswer = Static<typeof ActionAnswer>

/** Answer of list_actions: newest first. */
export const ActionList = named(
  'ActionList',
  Type.Object({
    actions: Type.Array(AgentAction),
    page: Type.Integer({ minimum: 1 }),
    per_page: Type.Integer({ description: 'Always the same.' }),
    has_more: Type.Boolean(),
  }),
)
export type ActionList = Static<typeof ActionList>

/** Answer of get_action_decision_receipt. */
export const DecisionReceipt = named(
  'DecisionReceipt',
  Type.Object({
    document: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'The action, who decided what and why, and what was read before and after.',
    }),
    document_sha256: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of the canonical document (RFC 8785), in hexadecimal.',
    }),
    chain_entry: Type.Object({
      sequence: Type.Integer({ minimum: 1, description: "In the workspace's audit log." }),
      hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
    disposition: Type.Object({
      receipt_status: Type.Literal('final'),
      outcome_status: Type.String({ description: 'The status of the action.' }),
      recovery_disposition: Type.Enum(['none', 'not_needed', 'rolled_back', 'needs_person']),
    }),
  }),
)
export type DecisionReceipt = Static<typeof DecisionReceipt>
