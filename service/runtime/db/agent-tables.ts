import type { Generated } from 'kysely'

/** Proposals of agents, their execution, and the audit log. */
export interface AgentTables {
  audit_entries: {
    workspace_id: number
    sequence: number
    body: string
    hash: Buffer
    action: Generated<string>
    subject_type: Generated<string>
    subject_id: Generated<string>
  }
  audit_heads: {
    workspace_id: number
    sequence: number
    hash: Buffer
    signature: Buffer
  }
  agent_policies: {
    workspace_id: number
    version: number
    execution_mode: string
    limits: string
    changed_by: number
    changed_at: Date
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
    version: number
    next_fault: string | null
    last_change_key: string | null
    changed_at: Date
  }
}

/** OAuth clients, connections of agents and their tokens. */
export interface OAuthTables {
  oauth_clients: {
    client_id: string
    kind: string
    name: string
    redirect_uris: string[]
    created_at: Date
    approved_at: Date | null
  }
  agent_connections: {
    id: Generated<number>
    grant_id: string | null
    client_id: string
    user_id: number
    workspace_id: number
    ad_account_id: number
    audience: string
    permissions: string[]
    name: string
    created_at: Date
    last_used_at: Date | null
    revoked_at: Date | null
  }
  oauth_artifacts: {
    model: string
    id: string
    payload: string
    grant_id: string | null
    user_code: string | null
    uid: string | null
    consumed_at: Date | null
    expires_at: Date
    polled_at: Date | null
    poll_seconds: number | null
  }
  execution_tokens: {
    id: Generated<number>
    workspace_id: number
    ad_account_id: number
    token_digest: Buffer
    tier: string
    name: string
    last_characters: string
    issued_by: number
    created_at: Date
    expires_at: Date
    last_used_at: Date | null
    revoked_at: Date | null
  }
}

/** What people are told, and the settings of each workspace. */
export interface NotificationTables {
  notification_settings: {
    workspace_id: number
    muted_email_topics: Generated<string[]>
    muted_webhook_topics: Generated<string[]>
    digest_minutes: Generated<number>
    webhook_host: string | null
    webhook_format: string | null
    sealed_webhook: Buffer | null
    webhook_disabled_at: Date | null
    webhook_disabled_reason: string | null
  }
  notifications: {
    id: Generated<number>
    workspace_id: number
    channel: string
    topic: string
    type: string
    permission: string | null
    person_id: number | null
    subject_type: string
    subject_id: string
    text: string
    path: string
    created_at: Date
  }
  notification_messages: {
    id: string
    workspace_id: number
    channel: string
    person_id: number | null
    body: string
    status: string
    attempts: Generated<number>
    next_attempt_at: Date
    last_error: string | null
    created_at: Date
    finished_at: Date | null
    is_test: Generated<boolean>
  }
  notification_choices: {
    workspace_id: number
    user_id: number
    topic: string
    is_wanted: boolean
  }
  announced_alerts: {
    workspace_id: number
    alert_key: string
    kind: string
    destination_id: string
    place: string
    path: string
    announced_at: Date
  }
  workspace_alerts: {
    id: Generated<number>
    workspace_id: number
    kind: string
    sentence: string
    details: string
    raised_at: Date
    resolved_at: Date | null
  }
}
