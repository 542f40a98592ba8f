import type { Generated, TablePlacement } from '../../runtime/db/tables.ts'

/** Destinations, the queue and the history of deliveries, and what was sent. */
interface DeliveryTables {
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
    routing: Generated<string>
    name: string | null
    paused_at: Date | null
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
    has_id_prefix: boolean | null
    told_value: string | null
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
    has_id_prefix: boolean | null
    told_value: string | null
  }
  delivery_id_counters: {
    tracker_id: string
    last_id: number
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
  request_receipts: {
    tracker_id: string
    id: string
    destination_id: string
    receipt_id: string
    accepted_at: Date
    event_count: number
    state: string
    record_count: number | null
    errors: Generated<string>
    warnings: Generated<string>
    answer: string | null
    polls: Generated<number>
    next_poll_at: Date | null
    settled_at: Date | null
  }
  request_receipt_deliveries: {
    tracker_id: string
    receipt: string
    chunk: number
    delivery_ids: number[]
    created_at: Date[]
  }
  erasure_messages: {
    tracker_id: string
    destination_id: string
    digest: string
    id: string
    erased_at: Date
    attempts: Generated<number>
    next_attempt_at: Date
  }
  request_budgets: {
    platform: string
    key: string
    minute: Date
    minute_reserved: number
    day: string
    day_reserved: number
  }
  delivery_counts: {
    tracker_id: string
    planned_on: string
    slot: number
    planned: number
    accepted: number
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
  sent_value_counts: {
    tracker_id: string
    destination_id: string
    sent_on: string
    event_name: string
    currency: string
    slot: number
    events: number
    amount: string
  }
  destination_outcomes: {
    tracker_id: string
    destination_id: string
    day: string
    status: string
    reason: string
    slot: number
    count: number
  }
}

declare module '../../runtime/db/tables.ts' {
  interface Tables extends DeliveryTables {}
}

export const DELIVERY_PLACEMENTS: Record<keyof DeliveryTables, TablePlacement> = {
  destinations: 'distributed',
  delivery_id_counters: 'distributed',
  delivery_queue: 'distributed',
  deliveries: 'distributed',
  send_attempts: 'distributed',
  request_receipts: 'distributed',
  request_receipt_deliveries: 'distributed',
  erasure_messages: 'distributed',
  request_budgets: 'local',
  delivery_counts: 'distributed',
  sent_counts: 'distributed',
  sent_key_counts: 'distributed',
  sent_value_counts: 'distributed',
  destination_outcomes: 'distributed',
  delivery_issues: 'distributed',
}
