import type { AlertKind, WorkspaceAlertKind } from '@signalbox/contract/alerts.ts'
import { type Stored, storedText } from '@signalbox/contract/closed-set.ts'
import type { TrackerOverview } from '@signalbox/contract/session/overview.ts'
import { countQueuedBatches } from '../agents/proposals/batch-store.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { hasEvents } from '../signals/events/stage-count-store.ts'
import { listOpenAlerts, type OpenAlert } from '../signals/reports/alert-store.ts'
import { listOpenWorkspaceAlerts } from '../workspaces/notifications/audit-alert-store.ts'
import { readDestinationStatuses, type StatusContext } from './destination-status.ts'

/**
 * What needs a person, and the state of each destination. The events themselves are counted by
 * `readEventFlow`.
 */
export async function readOverview(
  context: StatusContext,
  tracker: TrackerIdentity,
): Promise<TrackerOverview> {
  const { database } = context
  const { trackerId, workspaceId } = tracker
  const [known, { destinations, platforms }, alerts, workspaceAlerts, pending] = await Promise.all([
    hasEvents(database, trackerId),
    readDestinationStatuses(context, tracker),
    listOpenAlerts(database, trackerId),
    listOpenWorkspaceAlerts(database, workspaceId),
    countQueuedBatches(database, workspaceId),
  ])
  const nameOf = (type: string) => platforms.find(one => one.type === type)?.label ?? type
  return {
    has_events: known,
    destinations: destinations.map(status => ({
      status,
      platform: nameOf(status.destination.type),
    })),
    alerts: [
      ...workspaceAlerts.map(alert => alertView({ ...alert, destinationId: null })),
      ...alerts.map(alertView),
    ],
    pending_approvals: pending,
  }
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
