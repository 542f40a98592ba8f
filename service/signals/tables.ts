import type { Generated, TablePlacement } from '../runtime/db/tables.ts'

/** Trackers with their keys, refusals, erasures and reports. */
interface SignalTables {
  trackers: {
    id: string
    workspace_id: number
    name: string
    created_at: Date
    consent_categories: Generated<string>
    share_page_ids: Generated<boolean>
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
    sentence: Generated<string>
    samples: Generated<string[]>
  }
  refusal_values: {
    tracker_id: string
    hour: Date
    status: number
    field: string
    rule: string
    currency: string
    amount: string
    requests: number
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
    details: string | null
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
  emq_readings: {
    tracker_id: string
    destination_id: string
    read_at: Date
    next_read_at: Date
    unavailable_cause: string | null
    unavailable_sentence: string | null
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
  announced_alerts: {
    workspace_id: number
    alert_key: string
    kind: string
    destination_id: string
    place: string
    path: string
    announced_at: Date
  }
  imports: {
    tracker_id: string
    created_at: Date
    id: string
    file_name: string
    file_digest: string
    stored: Generated<number>
    duplicates: Generated<number>
    refused: Generated<number>
    blank: Generated<number>
    finished_at: Date | null
  }
  issue_states: {
    tracker_id: string
    issue_key: string
    state: string
    changed_at: Date
  }
  alert_thresholds: {
    workspace_id: number
    score_min: string
    score_fall: string
    unexplained_events: number
    unexplained_percent: string
    unreachable_minutes: number
    updated_at: Date
  }
}

declare module '../runtime/db/tables.ts' {
  interface Tables extends SignalTables {}
}

export const SIGNAL_PLACEMENTS: Record<keyof SignalTables, TablePlacement> = {
  trackers: 'reference',
  tracker_keys: 'reference',
  forwarded_signatures: 'distributed',
  reconciliation_reports: 'distributed',
  emq_snapshots: 'distributed',
  emq_readings: 'distributed',
  alerts: 'distributed',
  deletion_requests: 'distributed',
  tracker_key_uses: 'distributed',
  refusals: 'distributed',
  refusal_values: 'distributed',
  imports: 'distributed',
  issue_states: 'distributed',
  alert_thresholds: 'reference',
  announced_alerts: 'managed_local',
  erasure_keys: 'managed_local',
}
