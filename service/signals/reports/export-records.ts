import type { Database } from '../../runtime/db/database.ts'
import { formatUtcDay } from '../../runtime/util/time.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import { findDeliveries } from '../delivery/delivery-store.ts'
import { deliveryView, lineageView } from '../event-reads/event-view.ts'
import { toEventSpace } from '../event-reads/read-events.ts'
import { type EventRef, eventRefKey } from '../events/event-columns.ts'
import type { StoredEvent } from '../events/event-store.ts'
import { listEventRefsFrom, listEventsFrom } from '../events/list-store.ts'
import { comparisonView, snapshotView } from './read-reports.ts'
import { findReportsOfRange } from './reconciliation-store.ts'
import { findSnapshotPage } from './snapshot-store.ts'

export const EXPORT_KINDS = ['events', 'deliveries', 'reports', 'match-quality'] as const
export type ExportKind = (typeof EXPORT_KINDS)[number]

/** One line of an export. Its members are the columns, in this order. */
export type ExportRecord = Record<string, unknown>

/** Where the next page begins, as JSON; null for the first page. */
export type ExportPosition = Record<string, string | number> | null

export interface ExportPage {
  /** Each record is made when it is asked for, so that it is gone once it is written. */
  records: Iterable<ExportRecord>
  count: number
  /** Null after the last page. */
  next: ExportPosition
}

interface ExportRequest {
  kind: ExportKind
  tracker: TrackerIdentity
  position: ExportPosition
  /** Nothing that was received later, so that a resumed export ends where it would have ended. */
  before: Date
}

/** A page has at most so many events or reports; memory does not grow with the store. */
const PAGE_ROWS_MAX = 1_000

/**
 * The next page of an export. Events and their deliveries are in the order of receipt, reports and
 * match quality from the newest day on. Identity leaves as digests only: no click IDs, visitors or
 * addresses.
 */
export function readExportPage(database: Database, request: ExportRequest): Promise<ExportPage> {
  switch (request.kind) {
    case 'events':
      return readEvents(database, request)
    case 'deliveries':
      return readDeliveries(database, request)
    case 'reports':
      return readReports(database, request)
    case 'match-quality':
      return readMatchQuality(database, request)
  }
}

async function readEvents(database: Database, request: ExportRequest): Promise<ExportPage> {
  const found = await listEventsFrom(database, rangeOf(request))
  const page = found.slice(0, PAGE_ROWS_MAX)
  const records = page.values().map(({ decode }) => eventRecord(decode(), request.tracker))
  return { records, count: page.length, next: positionOf(found[PAGE_ROWS_MAX]) }
}

const DIGEST = /^[0-9a-f]{64}$/
const isDigest = (value: string) => DIGEST.test(value)

function eventRecord(event: StoredEvent, { workspaceId, trackerId }: TrackerIdentity) {
  const owner = { workspaceId, signalTrackerId: trackerId }
  // Changed in place, which saves a copy of so many members.
  const record: ExportRecord = lineageView(event, owner)
  record.click_ids = undefined
  record.session = undefined
  record.space = toEventSpace(event)
  const hashed = event.payload?.digests ?? {}
  for (const [name, values] of Object.entries(hashed)) {
    if (!values.every(isDigest)) hashed[name] = values.filter(isDigest)
  }
  return record
}

async function readDeliveries(database: Database, request: ExportRequest): Promise<ExportPage> {
  const { trackerId, workspaceId } = request.tracker
  const listed = await listEventRefsFrom(database, rangeOf(request))
  const refs = listed.slice(0, PAGE_ROWS_MAX)
  const found = await findDeliveries(database, trackerId, refs)
  const byEvent = Map.groupBy(found, eventRefKey)
  const owner = { workspaceId, signalTrackerId: trackerId }
  const records = refs.flatMap(ref =>
    (byEvent.get(eventRefKey(ref)) ?? []).map(delivery => ({
      ...deliveryView(delivery, owner, []),
    })),
  )
  return { records, count: records.length, next: positionOf(listed[PAGE_ROWS_MAX]) }
}

/** One more than a page, which is where the next one begins. */
function rangeOf({ tracker: { trackerId }, position, before }: ExportRequest) {
  const from = position && {
    createdAt: new Date(String(position.created_at)),
    eventId: String(position.event_id),
    space: Number(position.space),
  }
  return { trackerId, from, before, limit: PAGE_ROWS_MAX + 1 }
}

function positionOf(event: EventRef | undefined): ExportPosition {
  if (!event) return null
  const { createdAt, eventId, space } = event
  return { created_at: createdAt.toISOString(), event_id: eventId, space }
}

async function readReports(
  database: Database,
  { tracker, position, before }: ExportRequest,
): Promise<ExportPage> {
  const reports = await findReportsOfRange(database, {
    trackerId: tracker.trackerId,
    from: '0001-01-01',
    to: formatUtcDay(before),
    after: position && {
      reportDate: String(position.report_date),
      destinationId: String(position.destination_id),
    },
    limit: PAGE_ROWS_MAX,
  })
  const last = reports.at(-1)
  const owner = { workspaceId: tracker.workspaceId, signalTrackerId: tracker.trackerId }
  const hasMore = reports.length === PAGE_ROWS_MAX && last
  return {
    records: reports.map(report => ({ ...comparisonView(report, owner) })),
    count: reports.length,
    next: hasMore ? { report_date: last.reportDate, destination_id: last.destinationId } : null,
  }
}

/** A page may be cut short by the size of its answers, so an empty one is the last. */
async function readMatchQuality(
  database: Database,
  { tracker, position, before }: ExportRequest,
): Promise<ExportPage> {
  const { trackerId, workspaceId } = tracker
  const snapshots = await findSnapshotPage(database, {
    trackerId,
    before,
    after: position && {
      measuredOn: String(position.measured_on),
      destinationId: String(position.destination_id),
    },
    limit: PAGE_SNAPSHOTS_MAX,
  })
  const last = snapshots.at(-1)
  const owner = { workspaceId, signalTrackerId: trackerId }
  return {
    records: snapshots.map(snapshot => ({ ...snapshotView(snapshot, owner) })),
    count: snapshots.length,
    next: last ? { measured_on: last.measuredOn, destination_id: last.destinationId } : null,
  }
}

/** Each has the complete answer of the platform. */
const PAGE_SNAPSHOTS_MAX = 50
