import type { Generated } from 'kysely'

/** The ledger and the deliveries: the schema `signalbox_store`, and related tables in `public`. */
export interface EventTables {
  event_keys: {
    created_at: Date
    tracker_id: string
    id_digest: string
    space: number
  }
  legacy_events: {
    until: Date
  }
  events: {
    space: number
    tracker_id: string
    event_id: string
    created_at: Date
    event_time: Date
    event_name: string
    event_class: string | null
    action_source: string | null
    consent_basis: string | null
    measurement_class: string | null
    attribution_join: string | null
    enforcement_scope: string | null
    consent_normalization_version: string | null
    consent_captured_at: Date | null
    event_source: string | null
    parent_event_id: string | null
    order_id: string | null
    value_amount: string | null
    value_currency: string | null
    value_data: string | null
    consent: string | null
    notes: string | null
    body_digest: Buffer
    differing_submissions: Generated<number>
    last_differing_at: Date | null
  }
  event_payloads: {
    tracker_id: string
    event_id: string
    received_on: string
    created_at: Date
    space: number
    visitor_id: string | null
    user_data: string
    click_ids: string
    identifier_keys: Generated<number[]>
    page_url: string | null
  }
  sessions: {
    tracker_id: string
    visitor_id: string
    first_seen_at: Date
    last_seen_at: Date
    landing_source: string | null
    click_ids: string
  }
  consent_withdrawals: {
    tracker_id: string
    visitor_id: string
    withdrawn_at: Date
  }
  erased_identifiers: {
    tracker_id: string
    keyed_digest: Buffer
    erased_at: Date
  }
  list_positions: {
    tracker_id: string
    received_on: string
    position: number
    created_at: Date
    event_id: string
    space: Generated<number>
  }
  refusals: {
    tracker_id: string
    hour: Date
    status: number
    field: string
    rule: string
    requests: number
    errors: number
    first_at: Date
    last_at: Date
    last_request_id: string
    id_digests: string[]
  }
  stage_counts: {
    tracker_id: string
    hour: Date
    stage: string
    reason: string
    slot: number
    count: number
  }
  delivery_issues: {
    tracker_id: string
    destination_id: string
    day: string
    class: string
    code: number
    subcode: number
    reason: string
    slot: number
    attempts: number
    failed: number
    first_at: Date
    last_at: Date
    event_ids: string[]
  }
  event_counts: {
    tracker_id: string
    received_on: string
    slot: number
    events: number
    unindexed_since: Generated<Date>
  }
  delivery_counts: {
    tracker_id: string
    planned_on: string
    slot: number
    planned: number
    accepted: number
  }
  delivery_queue: {
    tracker_id: string
    created_at: Date
    id: number
    event_id: string
    space: number
    destination_id: string
    status: string
    status_reason: string
    is_test: boolean
    attempt_count: Generated<number>
    attempts_before_replay: Generated<number>
    next_attempt_at: Date
    leased_until: Date | null
    first_sent_at: Date | null
    updated_at: Date | null
    replayed_at: Date | null
    platform_trace_id: string | null
    last_error: string | null
    attempt_ids: Generated<string[]>
  }
  deliveries: {
    tracker_id: string
    created_at: Date
    id: number
    event_id: string
    space: number
    destination_id: string | null
    status: string
    status_reason: string | null
    is_test: boolean
    attempt_count: Generated<number>
    attempts_before_replay: Generated<number>
    first_sent_at: Date | null
    updated_at: Date | null
    replayed_at: Date | null
    replayable_until: Date | null
    platform_trace_id: string | null
    last_error: string | null
    attempt_ids: Generated<string[]>
  }
  delivery_id_counters: {
    tracker_id: string
    last_id: number
  }
}
