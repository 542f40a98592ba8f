import type { Generated, TablePlacement } from '../runtime/db/tables.ts'

/** Users (the schema `people`, which better-auth writes), workspaces, OAuth and notifications. */
interface WorkspaceTables {
  workspaces: {
    id: Generated<number>
    name: string
    created_at: Date
    status: Generated<string>
    requires_second_factor: Generated<boolean>
  }
  members: {
    workspace_id: number
    user_id: number
    role: string
    created_at: Date
    granted_role: string | null
    granted_by: number | null
    granted_at: Date | null
  }
  invitations: {
    id: string
    workspace_id: number
    email: string
    role: string
    invited_by: number | null
    status: string
    created_at: Date
    expires_at: Date
  }
  ad_accounts: {
    id: Generated<number>
    workspace_id: number
    platform: string
    platform_account_id: string
    name: string
    currency: string
    time_zone: string
    status: string
    created_at: Date
  }
  'people.users': {
    id: Generated<number>
    name: string
    email: string
    email_verified: boolean
    image: string | null
    created_at: Generated<Date>
    updated_at: Generated<Date>
    status: Generated<string>
    must_change_password: Generated<boolean>
    two_factor_enabled: Generated<boolean>
  }
  'people.sessions': {
    id: Generated<number>
    expires_at: Date
    token: string
    created_at: Generated<Date>
    updated_at: Date
    ip_address: string | null
    user_agent: string | null
    user_id: number
    authenticated_at: Date | null
    second_factor_at: Date | null
    awaits_second_factor: Generated<boolean>
  }
  'people.accounts': {
    id: Generated<number>
    account_id: string
    provider_id: string
    user_id: number
    access_token: string | null
    refresh_token: string | null
    id_token: string | null
    access_token_expires_at: Date | null
    refresh_token_expires_at: Date | null
    scope: string | null
    password: string | null
    created_at: Generated<Date>
    updated_at: Date
  }
  'people.verifications': {
    id: Generated<number>
    identifier: string
    value: string
    expires_at: Date
    created_at: Generated<Date>
    updated_at: Generated<Date>
  }
  'people.two_factors': {
    id: Generated<number>
    user_id: number
    secret: string
    backup_codes: string
    verified: Generated<boolean>
    failed_verification_count: Generated<number>
    locked_until: Date | null
  }
  'people.passkeys': {
    id: Generated<number>
    user_id: number
    name: string | null
    credential_id: string
    public_key: string
    counter: number
    device_type: string
    backed_up: boolean
    transports: string | null
    aaguid: string | null
    created_at: Date | null
  }
  'people.used_totp_codes': {
    user_id: number
    code_digest: Buffer
    used_at: Date
  }
  security_events: {
    id: Generated<number>
    at: Date
    type: string
    user_id: number | null
    client_address: string | null
    request_id: string | null
    details: string
  }
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

declare module '../runtime/db/tables.ts' {
  interface Tables extends WorkspaceTables {}
}

export const WORKSPACE_PLACEMENTS: Record<keyof WorkspaceTables, TablePlacement> = {
  workspaces: 'reference',
  ad_accounts: 'reference',
  'people.users': 'managed_local',
  'people.sessions': 'managed_local',
  'people.accounts': 'managed_local',
  'people.verifications': 'managed_local',
  'people.two_factors': 'managed_local',
  'people.passkeys': 'managed_local',
  'people.used_totp_codes': 'managed_local',
  members: 'managed_local',
  invitations: 'managed_local',
  oauth_clients: 'managed_local',
  agent_connections: 'managed_local',
  execution_tokens: 'managed_local',
  notification_settings: 'managed_local',
  notifications: 'managed_local',
  notification_messages: 'managed_local',
  notification_choices: 'managed_local',
  workspace_alerts: 'managed_local',
  oauth_artifacts: 'local',
  security_events: 'local',
}
