import type { Generated, TablePlacement } from '../../runtime/db/tables.ts'

/** Events with what identifies their visitors, and their counts. */
interface EventTables {
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
    secret_click_ids: string | null
    page_click_ignored_at: Date | null
  }
  consent_withdrawals: {
    tracker_id: string
    visitor_id: string
    withdrawn_at: Date
  }
  page_withdrawals: {
    tracker_id: string
    visitor_id: string
    platform: Generated<string>
    id: string
    event_id: string
    origin: string | null
    reaches_secret: boolean
    identifiers: Generated<number>
    first_withdrawn_at: Date
    withdrawn_at: Date
    lifted_at: Date | null
    lift_reason: string | null
  }
  page_withdrawal_keys: {
    tracker_id: string
    key: string
    withdrawal_id: string
    withdrawn_at: Date
  }
  erased_identifiers: {
    tracker_id: string
    keyed_digest: Buffer
    erased_at: Date
  }
  free_text_scans: {
    tracker_id: string
    scanned_to: Date
    until: Date
  }
  list_positions: {
    tracker_id: string
    received_on: string
    position: number
    created_at: Date
    event_id: string
    space: Generated<number>
  }
  event_counts: {
    tracker_id: string
    received_on: string
    slot: number
    events: number
    unindexed_since: Generated<Date>
  }
  secret_event_names: {
    tracker_id: string
    received_on: string
    event_name: string
  }
  order_keys: {
    created_at: Date
    tracker_id: string
    order_digest: string
    space: number
  }
  stage_counts: {
    tracker_id: string
    hour: Date
    stage: string
    reason: string
    slot: number
    count: number
  }
  event_flow_days: {
    tracker_id: string
    received_on: string
    counted_until: Date
    counted_at: Date
    events: number
    accepted: number
    waiting: number
    milliseconds: number
    flow: string
  }
}

declare module '../../runtime/db/tables.ts' {
  interface Tables extends EventTables {}
}

export const EVENT_PLACEMENTS: Record<keyof EventTables, TablePlacement> = {
  legacy_events: 'reference',
  event_keys: 'distributed',
  events: 'distributed',
  event_payloads: 'distributed',
  sessions: 'distributed',
  consent_withdrawals: 'distributed',
  page_withdrawals: 'distributed',
  page_withdrawal_keys: 'distributed',
  event_counts: 'distributed',
  list_positions: 'distributed',
  erased_identifiers: 'distributed',
  stage_counts: 'distributed',
  secret_event_names: 'distributed',
  order_keys: 'distributed',
  free_text_scans: 'distributed',
  event_flow_days: 'distributed',
}
