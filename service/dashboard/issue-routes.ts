import * as operations from '@signalbox/contract/session/issue-operations.ts'
import {
  AlertThresholds,
  ISSUE_DAYS,
  IssueChange,
  IssueQuery,
  REFUSAL_DAYS,
  type RefusalList,
  RefusalQuery,
} from '@signalbox/contract/session/issues.ts'
import type { TrackerOverview } from '@signalbox/contract/session/overview.ts'
import { hasPermission, type WorkspaceAction } from '@signalbox/contract/session/roles.ts'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'
import Type from 'typebox'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '../runtime/util/time.ts'
import { computeKeyedDigest } from '../signals/events/person-identifiers.ts'
import { findRefusalsOfEvent } from '../signals/refusals/refusal-list-store.ts'
import { digestRefusedId } from '../signals/refusals/worker.ts'
import { findThresholds } from '../signals/reports/alert-threshold-store.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import type { DashboardContext, TrackerRequest } from './dashboard-context.ts'
import { requireTracker } from './dashboard-context.ts'
import { readEventFlow, readFlowRange } from './event-flow.ts'
import { readHistory } from './history-reads.ts'
import {
  changeIssueState,
  changeThresholds,
  readIssueId,
  readIssueSamples,
  thresholdsView,
} from './issue-changes.ts'
import { LISTED_MAX, readIssues, readRefusals } from './issue-list.ts'
import { readOverview } from './overview.ts'

const DAYS_DEFAULT = 7

const issueDaysValidator = new Validator(IssueQuery, {
  coerceTypes: true,
  members: { days: { error: describeInvalidDays(ISSUE_DAYS) } },
})
const refusalDaysValidator = new Validator(Type.Pick(RefusalQuery, ['days']), {
  coerceTypes: true,
  members: { days: { error: describeInvalidDays(REFUSAL_DAYS) } },
})
const eventIdValidator = new Validator(Type.Pick(RefusalQuery, ['event_id']), {
  members: {
    event_id: {
      error: `The event_id field must have 1 to ${EVENT_ID_CHARACTERS_MAX} characters.`,
    },
  },
})

function describeInvalidDays(max: number): string {
  return `The days field must be an integer from 1 to ${max}.`
}

/** The overview of a tracker, and what went wrong: refusals, and failures by cause. */
export function issueRoutes(app: ServiceApp, context: DashboardContext): void {
  const { now } = context
  app.route({
    ...operations.getOverview,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'view_events')
      const overview = await readOverview(context, tracker)
      return hasPermission(tracker.role, 'read') ? overview : ofEventsAlone(overview)
    },
  })
  app.route({
    ...operations.getEventFlow,
    async handler(request, reply) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const asked = { trackerId, ...readFlowRange(request.query, now()), now: now() }
      return readHistory(context, { request, reply }, from => readEventFlow(from, asked))
    },
  })
  app.route({
    ...operations.listIssues,
    async handler(request, reply) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const { days = DAYS_DEFAULT } = issueDaysValidator.validate(request.query)
      return readHistory(context, { request, reply }, database =>
        readIssues({ database, now }, { trackerId, days }),
      )
    },
  })
  app.route({
    ...operations.listRefusals,
    async handler(request, reply) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const { event_id: eventId } = eventIdValidator.validate(request.query)
      if (eventId !== undefined) return listRefusalsOfEvent(context, trackerId, eventId)
      const { days = DAYS_DEFAULT } = refusalDaysValidator.validate(request.query)
      const from = startOfHour(new Date(now().getTime() - days * DAY_MILLISECONDS))
      return readHistory(context, { request, reply }, database =>
        readRefusals({ database }, { trackerId, from }),
      )
    },
  })
  changeRoutes(app, context)
}

const stateValidator = new Validator(IssueChange)
const thresholdValidator = new Validator(AlertThresholds)

/** What people decide about issues, and from when on they are alerted. */
function changeRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.getIssueSamples,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const subject = readIssueId(readPathParameters(request.params, 'issue').issue)
      if (subject.kind === 'refusal') throw Refusal.notFound('Issue not found.')
      return readIssueSamples(context, trackerId, subject)
    },
  })
  app.route({
    ...operations.changeIssue,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const subject = readIssueId(readPathParameters(request.params, 'issue').issue)
      const { state } = stateValidator.validate(request.body)
      return changeIssueState(context, { user: request.user, tracker, subject, state })
    },
  })
  app.route({
    ...operations.getAlertThresholds,
    async handler({ user, params }) {
      const { workspaceId } = await requireWorkspace(context, { user, params }, 'read')
      return thresholdsView(await findThresholds(context.database, workspaceId))
    },
  })
  app.route({
    ...operations.changeAlertThresholds,
    async handler({ user, params, body }) {
      const { workspaceId } = await requireWorkspace(context, { user, params }, 'manage_deliveries')
      const thresholds = thresholdValidator.validate(body)
      await changeThresholds(context, { user, workspaceId, thresholds })
      return thresholdsView(await findThresholds(context.database, workspaceId))
    },
  })
}

/** What an events viewer sees: nothing of proposals, the log or the privacy of the workspace. */
function ofEventsAlone(overview: TrackerOverview): TrackerOverview {
  const alerts = overview.alerts.filter(alert => alert.destination_id !== null)
  return { ...overview, alerts, pending_approvals: 0 }
}

function requireWorkspace(
  { database }: DashboardContext,
  { user, params }: TrackerRequest,
  action: WorkspaceAction,
) {
  const { workspace: workspaceId } = readPathParameters(params, 'workspace')
  return requireRole(database, user, { workspaceId, action })
}

async function listRefusalsOfEvent(
  context: DashboardContext,
  trackerId: string,
  eventId: string,
): Promise<RefusalList> {
  const { erasureKey, now } = context
  const from = startOfHour(new Date(now().getTime() - REFUSAL_DAYS * DAY_MILLISECONDS))
  const idDigest = computeKeyedDigest(await erasureKey(), trackerId, digestRefusedId(eventId))
  const search = { trackerId, from, idDigest, limit: LISTED_MAX }
  const causes = await findRefusalsOfEvent(context.database, search)
  return readRefusals(context, { trackerId, from, causes })
}

function startOfHour(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR_MILLISECONDS) * HOUR_MILLISECONDS)
}
