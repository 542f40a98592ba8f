import type { Generated, TablePlacement } from '../runtime/db/tables.ts'

/** Proposals of agents, their execution, and the simulated ad accounts. */
interface AgentTables {
  agent_policies: {
    workspace_id: number
    version: number
    execution_mode: string
    limits: string
    changed_by: number
    changed_at: Date
  }
  agent_policy_versions: {
    workspace_id: number
    version: number
    base_version: number
    execution_mode: string
    limits: string
    valid_from: Date
    changed_by: number
    changed_at: Date
    confirmed_by: number | null
    confirmed_at: Date | null
    canceled_by: number | null
    canceled_at: Date | null
  }
  agent_batches: {
    id: Generated<number>
    workspace_id: number
    ad_account_id: number
    idempotency_key: string
    proposal_key: string
    content_sha256: Buffer
    rationale: string
    target_source: string
    evidence: string
    proposer_kind: string
    proposer_id: number
    proposer_name: string
    person_id: number
    policy_version: number
    policy_decision: string
    all_or_nothing: Generated<boolean>
    undoes: number | null
    created_at: Date
    expires_at: Date
  }
  agent_actions: {
    id: Generated<number>
    batch_id: number
    position: number
    workspace_id: number
    ad_account_id: number
    type: string
    target_type: string
    target_id: string
    target_name: string | null
    params: string
    rationale: string
    status: string
    outcome: string | null
    policy_decision: string
    policy_reasons: string
    policy_evidence: string
    state_before: string | null
    state_proposed: string | null
    state_after: string | null
    change_minor: Generated<number>
    decided_by: number | null
    decided_at: Date | null
    decision_reason: string | null
    decision_context: string | null
    execution_started_at: Date | null
    executed_at: Date | null
    finished_at: Date | null
    change_requested_at: Date | null
    change_policy_version: number | null
    change_attempts: Generated<number>
    rollback_requested_at: Date | null
    created_at: Date
    updated_at: Date
  }
  agent_receipts: {
    action_id: number
    workspace_id: number
    document: string
    document_sha256: Buffer
    sequence: number
    hash: Buffer
  }
  agent_tool_uses: {
    principal_kind: string
    principal_id: number
    tool: string
    used_at: Date
  }
  agent_tool_answers: {
    id: Generated<number>
    principal_kind: string
    principal_id: number
    tool: string
    answered_at: Date
    answer: string | null
  }
  ad_entities: {
    ad_account_id: number
    type: string
    id: string
    parent_type: string | null
    parent_id: string | null
    name: string
    status: string
    daily_budget_minor: number | null
    lifetime_budget_minor: number | null
    version: number
    next_fault: string | null
    last_change_key: string | null
    changed_at: Date
  }
}

declare module '../runtime/db/tables.ts' {
  interface Tables extends AgentTables {}
}

export const AGENT_PLACEMENTS: Record<keyof AgentTables, TablePlacement> = {
  agent_policies: 'managed_local',
  agent_policy_versions: 'managed_local',
  agent_batches: 'managed_local',
  agent_actions: 'managed_local',
  agent_receipts: 'managed_local',
  agent_tool_uses: 'managed_local',
  agent_tool_answers: 'managed_local',
  ad_entities: 'managed_local',
}
