import type { ReconciliationReport } from '@signalbox/contract/reports.ts'

/** What explains a part of a gap, in the words of the documentation. */
export const BUCKETS = [
  { name: 'test_events', label: 'Test events', color: 'gray.5' },
  { name: 'pending', label: 'Still waiting', color: 'yellow.6' },
  { name: 'late_event_time', label: 'Of another day', color: 'blue.6' },
  { name: 'unknown_outcome', label: 'Unknown outcome', color: 'grape.6' },
  { name: 'platform_refused', label: 'Refused later', color: 'pink.6' },
  { name: 'platform_deduplicated', label: 'Duplicates', color: 'teal.6' },
  { name: 'other_senders', label: 'Other senders', color: 'orange.6' },
] as const

/** The numbers of a day, for a chart. */
export interface DayRow extends Record<string, string | number> {
  date: string
  accepted: number
  counted: number
  unexplained: number
}

/** Whether the platform told a count: without one, the numbers of a report are none. */
export function isCompared({ status }: Pick<ReconciliationReport, 'status'>): boolean {
  return status !== 'unavailable'
}

/** Days with counts of the platform, oldest first: without them there is nothing to compare. */
export function toDayRows(reports: readonly ReconciliationReport[]): DayRow[] {
  return reports
    .filter(isCompared)
    .map(report => ({
      date: report.report_date,
      accepted: report.accepted_count,
      counted: report.meta_count,
      unexplained: report.unexplained_residual,
      ...Object.fromEntries(
        BUCKETS.map(({ name }) => [name, report.buckets[name]?.count ?? 0] as const),
      ),
    }))
    .toReversed()
}

export const STATUS_LABELS: Record<
  ReconciliationReport['status'],
  { label: string; color: string }
> = {
  matched: { label: 'Matched', color: 'brand' },
  explained: { label: 'Explained', color: 'brand' },
  unexplained: { label: 'Unexplained', color: 'red' },
  pending: { label: 'Pending', color: 'yellow' },
  unavailable: { label: 'Unavailable', color: 'gray' },
}
