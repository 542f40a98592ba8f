import { decimalToken } from '@signalbox/contract/decimal.ts'
import type {
  EmqSnapshot,
  ReconciliationBucket,
  ReconciliationReport,
  ReportStatus,
} from '@signalbox/contract/reports.ts'
import type { Destination } from '../delivery/destination-store.ts'
import { destinationView } from '../delivery/destination-view.ts'
import type { EventOwner } from './event-view.ts'
import type { StoredReport, StoredSnapshot } from './report-store.ts'

export interface ReportOwner extends EventOwner {
  at: Date
}

export function reportView(
  report: StoredReport,
  destination: Destination,
  { workspaceId, signalTrackerId, at }: ReportOwner,
): ReconciliationReport {
  return {
    id: report.id,
    workspace_id: workspaceId,
    signal_tracker_id: signalTrackerId,
    destination_id: report.destinationId,
    report_date: report.reportDate,
    accepted_count: report.acceptedCount,
    meta_count: report.metaCount,
    observed_gap: report.acceptedCount - report.metaCount,
    event_counts: report.eventCounts,
    buckets: report.buckets as Record<string, ReconciliationBucket>,
    unexplained_residual: report.unexplainedResidual,
    status: report.status as ReportStatus,
    created_at: report.createdAt.toISOString(),
    updated_at: report.updatedAt.toISOString(),
    destination: destinationView(destination, { workspaceId, at }),
  }
}

export function snapshotView(
  snapshot: StoredSnapshot,
  { workspaceId, signalTrackerId }: EventOwner,
): EmqSnapshot {
  const change = snapshot.weekOverWeekChange
  return {
    id: snapshot.id,
    workspace_id: workspaceId,
    signal_tracker_id: signalTrackerId,
    destination_id: snapshot.destinationId,
    score: decimalToken(snapshot.score),
    week_over_week_change: change === null ? null : decimalToken(change),
    alerted: snapshot.alerted,
    platform_response: snapshot.platformResponse,
    measured_at: snapshot.measuredAt.toISOString(),
    created_at: snapshot.createdAt.toISOString(),
    updated_at: snapshot.updatedAt.toISOString(),
  }
}
