import { storedText } from '@signalbox/contract/closed-set.ts'
import { decimalToken } from '@signalbox/contract/decimal.ts'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { getReconciliationReport } from '@signalbox/contract/report-operations.ts'
import {
  BUCKET_NAMES,
  type EmqSnapshot,
  type ReconciliationBucket,
  type ReconciliationReport,
  type RequestResults,
} from '@signalbox/contract/reports.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Validator } from '../../runtime/http/validator.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import { destinationView } from '../delivery/destination-resource.ts'
import { type Destination, findDestination } from '../delivery/destination-store.ts'
import type { RequestsOfDay } from '../delivery/receipt-store.ts'
import type { EventOwner } from '../event-reads/event-view.ts'
import { explainOutcome } from './bucket-explanations.ts'
import { findReports, type ReportDetails, type StoredReport } from './reconciliation-store.ts'
import { findSnapshots, type StoredSnapshot } from './snapshot-store.ts'

interface ReconciliationRequest {
  tracker: TrackerIdentity
  /** Not validated. */
  query: unknown
  at: Date
}

/** getReconciliationReport: the reports of a day, empty until they are made. */
export async function readReconciliation(
  database: Database,
  { tracker: { trackerId, workspaceId }, query, at }: ReconciliationRequest,
): Promise<{ date: string; reports: ReconciliationReport[] }> {
  const { date } = dayValidator.validate(query)
  const reports: ReconciliationReport[] = []
  for (const report of await findReports(database, trackerId, date)) {
    const destination = await findDestination(database, trackerId, report.destinationId)
    if (!destination) continue
    reports.push(reportView(report, destination, { workspaceId, signalTrackerId: trackerId, at }))
  }
  return { date, reports }
}

/** getEmqReport: snapshots of the match quality, newest first. */
export async function readSnapshots(
  database: Database,
  { trackerId, workspaceId }: TrackerIdentity,
): Promise<{ snapshots: EmqSnapshot[] }> {
  const snapshots = await findSnapshots(database, trackerId)
  const owner = { workspaceId, signalTrackerId: trackerId }
  return { snapshots: snapshots.map(snapshot => snapshotView(snapshot, owner)) }
}

const INVALID_DAY = 'The date field must be a calendar day, such as 2026-11-20.'

const dayValidator = new Validator(getReconciliationReport.schema.querystring, {
  members: { date: { error: keyword => (keyword === 'required' ? null : INVALID_DAY) } },
})

export interface ReportOwner extends EventOwner {
  at: Date
}

export function reportView(
  report: StoredReport,
  destination: Destination,
  { workspaceId, signalTrackerId, at }: ReportOwner,
): ReconciliationReport {
  return {
    ...comparisonView(report, { workspaceId, signalTrackerId }),
    destination: destinationView(destination, { workspaceId, at }),
  }
}

/** A report without its destination. */
export function comparisonView(
  report: StoredReport,
  { workspaceId, signalTrackerId }: EventOwner,
): Omit<ReconciliationReport, 'destination'> {
  return {
    id: report.id,
    workspace_id: workspaceId,
    signal_tracker_id: signalTrackerId,
    destination_id: report.destinationId,
    report_date: report.reportDate,
    accepted_count: report.acceptedCount,
    // The contract has a number here also without a report, whose status says that it is none.
    meta_count: report.platformCount ?? 0,
    observed_gap: gapOf(report) ?? report.acceptedCount,
    event_counts: report.eventCounts,
    buckets: bucketsView(report),
    unexplained_residual: report.unexplainedResidual ?? report.acceptedCount,
    status: storedText(report.status),
    created_at: report.createdAt.toISOString(),
    updated_at: report.updatedAt.toISOString(),
    ...detailsView(report.details),
  }
}

/** Without a report every bucket says why, and counts nothing. */
function bucketsView({ buckets, details }: StoredReport): Record<string, ReconciliationBucket> {
  if (!details?.unavailable) return buckets as Record<string, ReconciliationBucket>
  const explanation = `The day was not compared. ${details.unavailable.sentence}`
  return Object.fromEntries(
    BUCKET_NAMES.map(name => [name, { count: 0, basis: 'measured', explanation }]),
  )
}

/** Null without a report of the platform. */
export function gapOf({
  acceptedCount,
  platformCount,
}: Pick<StoredReport, 'acceptedCount' | 'platformCount'>): number | null {
  return platformCount === null ? null : acceptedCount - platformCount
}

type DetailsView = Pick<
  ReconciliationReport,
  'count_source' | 'unavailable' | 'sent_names' | 'outcomes' | 'requests' | 'values'
>

function detailsView(details: ReportDetails | null): DetailsView {
  if (details === null) return NO_DETAILS
  const { unavailable, countSource, requests } = details
  return {
    count_source: countSource,
    unavailable,
    sent_names: details.sentNames.map(({ eventName, platformName }) => ({
      event_name: eventName,
      platform_name: platformName,
    })),
    outcomes: details.outcomes.map(({ status, reason, count }) => ({
      status: status as DeliveryStatus,
      reason,
      count,
      explanation: explainOutcome(reason),
    })),
    requests: requests && requestsView(requests),
    values: countSource && valuesView(details.values, countSource.platform),
  }
}

const NO_DETAILS: DetailsView = {
  count_source: null,
  unavailable: null,
  sent_names: [],
  outcomes: [],
  requests: null,
  values: null,
}

function requestsView(requests: RequestsOfDay): RequestResults {
  return {
    requests: requests.requests,
    events: requests.events,
    processed_events: requests.processedEvents,
    processing_events: requests.processingEvents,
    unknown_events: requests.unknownEvents,
    failed_events: requests.failedEvents,
    refusals: requests.refusals,
  }
}

function valuesView({ accepted, reported, noValues }: ReportDetails['values'], platform: string) {
  const none = noValues ?? `${platform} reports no values.`
  return {
    accepted: accepted.map(({ eventName, ...value }) => ({ event_name: eventName, ...value })),
    reported: reported && [...reported],
    explanation: reported === null ? none : `The values that ${platform} reports for the day.`,
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
