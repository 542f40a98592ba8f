import { type CsvCell, formatCsv } from '../../runtime/util/csv.ts'
import type { ExportKind, ExportRecord } from '../../signals/reports/export-records.ts'

export const EXPORT_FORMATS = ['ndjson', 'csv'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** What comes before the first record. A test compares the columns with the records. */
export function formatHeader(format: ExportFormat, kind: ExportKind): string {
  return format === 'csv' ? formatCsv([EXPORT_COLUMNS[kind]]) : ''
}

/** A record as one line. Decimal values keep every digit in both formats. */
export function formatRecord(format: ExportFormat, kind: ExportKind, record: ExportRecord): string {
  if (format === 'ndjson') return `${JSON.stringify(record)}\n`
  return formatCsv([EXPORT_COLUMNS[kind].map(column => toCell(record[column]))])
}

/** CSV has its columns in the first line, also when there is no record. */
export const EXPORT_COLUMNS: Record<ExportKind, readonly string[]> = {
  events: [
    ...['id', 'workspace_id', 'signal_tracker_id', 'parent_event_id', 'event_name', 'event_time'],
    ...['action_source', 'event_class', 'order_id', 'value_amount', 'value_currency'],
    ...['created_at', 'consent_basis', 'measurement_class', 'attribution_join'],
    ...['enforcement_scope', 'consent_normalization_version', 'consent', 'user_data_hashed'],
    ...['value_data', 'event_source', 'payload_expired', 'space'],
  ],
  deliveries: [
    ...['id', 'workspace_id', 'signal_tracker_id', 'event_id', 'destination_id', 'status'],
    ...['is_test', 'attempt_count', 'last_error', 'platform_response', 'platform_trace_id'],
    ...['next_attempt_at', 'created_at', 'updated_at'],
  ],
  reports: [
    ...['id', 'workspace_id', 'signal_tracker_id', 'destination_id', 'report_date'],
    ...['accepted_count', 'meta_count', 'observed_gap', 'event_counts', 'buckets'],
    ...['unexplained_residual', 'status', 'created_at', 'updated_at'],
  ],
  'match-quality': [
    ...['id', 'workspace_id', 'signal_tracker_id', 'destination_id', 'score'],
    ...['week_over_week_change', 'alerted', 'platform_response', 'measured_at'],
    ...['created_at', 'updated_at'],
  ],
}

function toCell(value: unknown): CsvCell {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'number') return value
  return { json: value }
}
