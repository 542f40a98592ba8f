import type { AlertKind, WorkspaceAlertKind } from '@signalbox/contract/alerts.ts'
import { type Stored, storedText } from '@signalbox/contract/closed-set.ts'
import { reasonOf, type StageReason, type WaitingReason } from '@signalbox/contract/reasons.ts'
import type {
  DestinationOverview,
  StageName,
  StageSummary,
  TrackerOverview,
} from '@signalbox/contract/session/overview.ts'
import { countQueuedBatches } from '../agents/proposals/batch-store.ts'
import {
  addHoursToDay,
  formatUtcDay,
  HOUR_MILLISECONDS,
  subtractDays,
} from '../runtime/util/time.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { countWaitingByReason, type WaitingByReason } from '../signals/delivery/backlog-store.ts'
import {
  type DestinationCount,
  findFirstCountedHour,
  type PlatformCountOfDay,
  readDestinationCounts,
  readDestinationReports,
  readPlatformCounts,
  readStageCounts,
  type StageCount,
} from '../signals/events/stage-count-store.ts'
import { countRefusalsByHour } from '../signals/refusals/refusal-list-store.ts'
import { listOpenAlerts, type OpenAlert } from '../signals/reports/alert-store.ts'
import { listOpenWorkspaceAlerts } from '../workspaces/notifications/audit-alert-store.ts'
import { readDestinationStatuses, type StatusContext } from './destination-status.ts'

interface OverviewQuery {
  tracker: TrackerIdentity
  /** Hours that are counted, the current one included. */
  hours: number
  now: Date
}

const REASONS_MAX = 20
const DAY_HOURS = 24

/**
 * What happened to the events of a tracker in the last hours, stage by stage. It reads counts that
 * are kept, and of the queue at most ten thousand deliveries for each destination, so it takes as
 * long with ten million events as with ten thousand.
 */
export async function readOverview(
  context: StatusContext,
  { tracker, hours, now }: OverviewQuery,
): Promise<TrackerOverview> {
  const { database } = context
  const { trackerId, workspaceId } = tracker
  const thisHour = Math.floor(now.getTime() / HOUR_MILLISECONDS) * HOUR_MILLISECONDS
  const from = new Date(thisHour - (hours - 1) * HOUR_MILLISECONDS)
  const today = formatUtcDay(now)
  const firstDay = subtractDays(now, Math.ceil(hours / DAY_HOURS))
  const days = { from: firstDay, until: today }
  const [counts, refused, waiting, counted, since, alerts, workspaceAlerts, pending, destinations] =
    await Promise.all([
      readStageCounts(database, { trackerId, from }),
      countRefusalsByHour(database, { trackerId, from }),
      countWaitingByReason(database, trackerId),
      readPlatformCounts(database, { trackerId, from: firstDay, until: today }),
      findFirstCountedHour(database, trackerId),
      listOpenAlerts(database, trackerId),
      listOpenWorkspaceAlerts(database, workspaceId),
      countQueuedBatches(database, workspaceId),
      readDestinations(context, tracker, days),
    ])
  const span = { from: from.toISOString(), to: now.toISOString() }
  const ofStage = (stage: StageCount['stage']) => counts.filter(each => each.stage === stage)
  return {
    ...span,
    counted_since: since?.toISOString() ?? null,
    stages: [
      { ...summarizeHours('refused', 'requests', refused), ...span },
      { ...summarizeHours('accepted', 'events', ofStage('accepted')), ...span },
      { ...summarizeHours('held', 'deliveries', ofStage('held')), ...span },
      { ...summarizeWaiting(waiting), from: null, to: span.to },
      { ...summarizeHours('failed', 'deliveries', ofStage('failed')), ...span },
      {
        ...summarizeHours('platform_accepted', 'deliveries', ofStage('platform_accepted')),
        ...span,
      },
      summarizePlatformDays(counted, firstDay, today),
    ],
    destinations,
    alerts: [
      ...workspaceAlerts.map(alert => alertView({ ...alert, destinationId: null })),
      ...alerts.map(alertView),
    ],
    pending_approvals: pending,
  }
}

/**
 * The same by destination, in whole UTC days: deliveries are counted by destination and day. The
 * platform's report of a day comes on the next one.
 */
async function readDestinations(
  context: StatusContext,
  tracker: TrackerIdentity,
  { from, until }: { from: string; until: string },
): Promise<DestinationOverview[]> {
  const { trackerId } = tracker
  const [{ destinations, platforms }, counts, reports] = await Promise.all([
    readDestinationStatuses(context, tracker),
    readDestinationCounts(context.database, { trackerId, from, until }),
    readDestinationReports(context.database, { trackerId, from, until }),
  ])
  return destinations.map(status => {
    const { id, type } = status.destination
    const own = counts.filter(({ destinationId }) => destinationId === id)
    const accepted = sumOf(own.filter(({ status: one }) => one === 'accepted'))
    const isSkipped = ({ status: one }: DestinationCount) => one.startsWith('skipped:')
    const skipped = own.filter(isSkipped)
    const failed = own.filter(one => one.status !== 'accepted' && !isSkipped(one))
    const report = reports.find(({ destinationId }) => destinationId === id)
    return {
      status,
      platform: platforms.find(one => one.type === type)?.label ?? type,
      from: addHoursToDay(from, 0).toISOString(),
      received: sumOf(own) + status.queue.waiting,
      accepted,
      skipped: withReasons(skipped),
      failed: withReasons(failed),
      reported: { count: report?.count ?? null, explanation: report?.explanation ?? null },
    }
  })
}

function withReasons(counts: readonly DestinationCount[]) {
  const named = counts.map(({ reason, count }) => ({ reason: reason ?? '', count }))
  return { count: sumOf(counts), reasons: listReasons(named.filter(isNamed)) }
}

export function sumOf(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

function alertView({
  destinationId,
  kind,
  sentence,
  raisedAt,
}: Pick<OpenAlert, 'sentence' | 'raisedAt'> & {
  destinationId: string | null
  kind: Stored<AlertKind | WorkspaceAlertKind>
}) {
  return {
    destination_id: destinationId,
    kind: storedText(kind),
    sentence,
    raised_at: raisedAt.toISOString(),
  }
}

type Summary = Omit<StageSummary, 'from' | 'to'>

function summarizeHours(
  stage: StageName,
  unit: Summary['unit'],
  counts: readonly { hour: Date; reason: Stored<StageReason> | null; count: number }[],
): Summary {
  const hours = sumBy(counts, ({ hour }) => hour.toISOString())
  return {
    stage,
    unit,
    is_minimum: false,
    count: sumOf(counts),
    reasons: listReasons(
      counts
        .map(({ reason, count }) => ({ reason: reason ? storedText(reason) : '', count }))
        .filter(isNamed),
    ),
    hours: [...hours].map(([hour, count]) => ({ hour, count })),
  }
}

function summarizeWaiting({
  reasons,
  isTruncated,
}: Awaited<ReturnType<typeof countWaitingByReason>>): Summary {
  const named = reasons.map(waiting => ({
    reason: storedText(nameWaitingReason(waiting)),
    count: waiting.count,
  }))
  return {
    stage: 'waiting',
    unit: 'deliveries',
    is_minimum: isTruncated,
    hours: [],
    count: sumOf(named),
    reasons: listReasons(named),
  }
}

/** A paused destination is the reason of everything that waits for it. */
function nameWaitingReason({ status, reason, isPaused }: WaitingByReason): Stored<WaitingReason> {
  if (isPaused) return 'destination_paused'
  if (status === 'sent') return 'sent'
  if (status === 'queued' || status === 'retrying') return reasonOf(status, reason)
  return { unrecognized: storedText(reason) }
}

/** The platform counts whole days, and reports them on the next day. */
function summarizePlatformDays(
  days: readonly PlatformCountOfDay[],
  firstDay: string,
  today: string,
): StageSummary {
  return {
    stage: 'platform_counted',
    unit: 'events',
    is_minimum: false,
    reasons: [],
    from: addHoursToDay(firstDay, 0).toISOString(),
    to: addHoursToDay(today, 0).toISOString(),
    count: days.length === 0 ? null : sumOf(days),
    hours: days.map(({ day, count }) => ({ hour: addHoursToDay(day, 0).toISOString(), count })),
  }
}

function isNamed({ reason }: { reason: string }): boolean {
  return reason !== ''
}

/** The most frequent reasons first. */
export function listReasons(
  counts: readonly { reason: string; count: number }[],
): StageSummary['reasons'] {
  return [...sumBy(counts, ({ reason }) => reason)]
    .map(([reason, count]) => ({ reason, count }))
    .sort((a, b) => b.count - a.count || a.reason.localeCompare(b.reason))
    .slice(0, REASONS_MAX)
}

function sumBy<Row extends { count: number }>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): Map<string, number> {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.count)
  return sums
}
