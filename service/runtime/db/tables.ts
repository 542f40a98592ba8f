import type { Generated } from 'kysely'
import type { AgentTables, NotificationTables, OAuthTables } from './agent-tables.ts'
import type { EventTables } from './event-tables.ts'

/** The columns of every table. `tables.test.ts` compares them with the migrated schema. */
export interface Tables
  extends UserTables,
    OAuthTables,
    AgentTables,
    NotificationTables,
    EventTables {
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
  trackers: {
    id: string
    workspace_id: number
    name: string
    created_at: Date
    consent_categories: Generated<string>
  }
  tracker_keys: {
    tracker_id: string
    key_digest: Buffer
    kind: string
    last_characters: string
    created_at: Date
    revoked_at: Date | null
    origins: Generated<string[]>
  }
  tracker_key_uses: {
    tracker_id: string
    key_digest: Buffer
    last_used_at: Date
  }
  forwarded_signatures: {
    tracker_id: string
    signature: Buffer
    forwarded_at: Date
  }
  destinations: {
    tracker_id: string
    id: string
    type: string
    credential_source: string
    config: string
    platform_ad_account_id: number | null
    sealed_credential: Buffer
    status: string
    status_reason: string | null
    next_probe_at: Date | null
    failed_probes: Generated<number>
    test_event_code: string | null
    test_mode_until: Date | null
    created_at: Date
    updated_at: Date
    backoff_cause: string | null
    backoff_since: Date | null
    backoff_until: Date | null
  }
  erasure_keys: {
    id: number
    sealed_key: Buffer
    created_at: Date
  }
  deletion_requests: {
    tracker_id: string
    keyed_digest: Buffer
    id: string
    requests: number
    events_updated: number
    sessions_updated: number
    created_at: Date
    completed_at: Date
  }
  sent_counts: {
    tracker_id: string
    destination_id: string
    sent_on: string
    event_name: string
    event_on: string
    slot: number
    accepted: number
    test: number
    unknown: number
  }
  sent_key_counts: {
    tracker_id: string
    destination_id: string
    sent_on: string
    event_name: string
    match_key: string
    slot: number
    events: number
  }
  reconciliation_reports: {
    tracker_id: string
    id: number
    destination_id: string
    report_date: string
    accepted_count: number
    meta_count: number
    event_counts: string
    buckets: string
    unexplained_residual: number
    status: string
    created_at: Date
    updated_at: Date
    tried_at: Date
    trouble: string | null
  }
  emq_snapshots: {
    tracker_id: string
    id: number
    destination_id: string
    measured_on: string
    score: string
    week_over_week_change: string | null
    alerted: boolean
    platform_response: string | null
    measured_at: Date
    created_at: Date
    updated_at: Date
  }
  alerts: {
    tracker_id: string
    id: number
    destination_id: string
    kind: string
    sentence: string
    details: string
    raised_at: Date
    resolved_at: Date | null
  }
  emq_readings: {
    tracker_id: string
    destination_id: string
    read_at: Date
    next_read_at: Date
    unavailable_cause: string | null
    unavailable_sentence: string | null
  }
  job_records: {
    name: string
    known_at: Generated<Date>
    succeeded_at: Date | null
  }
  send_attempts: {
    tracker_id: string
    id: string
    destination_id: string
    started_at: Date
    duration_milliseconds: number
    event_count: number
    is_test: boolean
    outcome: string
    http_status: number | null
    trace_id: string | null
    answer: string | null
  }
}

/** The schema `people`, which better-auth writes. */
interface UserTables {
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
  security_events: {
    id: Generated<number>
    at: Date
    type: string
    user_id: number | null
    client_address: string | null
    request_id: string | null
    details: string
  }
  'people.verifications': {
    id: Generated<number>
    identifier: string
    value: string
    expires_at: Date
    created_at: Generated<Date>
    updated_at: Generated<Date>
  }
}
