import { isRecognized, storedText } from '@signalbox/contract/closed-set.ts'
import * as operations from '@signalbox/contract/session/issue-operations.ts'
import {
  ISSUE_DAYS,
  type IssueList,
  IssueQuery,
  REFUSAL_DAYS,
  type RefusalList,
  RefusalQuery,
} from '@signalbox/contract/session/issues.ts'
import {
  OVERVIEW_HOURS_MAX,
  OverviewQuery,
  type TrackerOverview,
} from '@signalbox/contract/session/overview.ts'
import { hasPermission } from '@signalbox/contract/session/roles.ts'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'
import Type from 'typebox'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { Validator } from '../runtime/http/validator.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS, subtractDays } from '../runtime/util/time.ts'
import { listIssueCounts } from '../signals/delivery/issue-store.ts'
import { computeKeyedDigest } from '../signals/events/person-identifiers.ts'
import {
  findRefusalsOfEvent,
  listRefusalCauses,
  type RefusalCause,
} from '../signals/refusals/refusal-store.ts'
import { digestRefusedId } from '../signals/refusals/worker.ts'
import { countPageOnlyWithdrawals } from '../signals/reports/withdrawal-count-store.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { requireTracker } from './dashboard-context.ts'
import { readEventFlow, readFlowRange } from './event-flow.ts'
import { readOverview } from './overview.ts'

const HOURS_DEFAULT = 24
const DAYS_DEFAULT = 7
const LISTED_MAX = 100

const hoursValidator = new Validator(OverviewQuery, {
  coerceTypes: true,
  members: { hours: { error: describeInvalidLength('hours', OVERVIEW_HOURS_MAX) } },
})
const issueDaysValidator = new Validator(IssueQuery, {
  coerceTypes: true,
  members: { days: { error: describeInvalidLength('days', ISSUE_DAYS) } },
})
const refusalDaysValidator = new Validator(Type.Pick(RefusalQuery, ['days']), {
  coerceTypes: true,
  members: { days: { error: describeInvalidLength('days', REFUSAL_DAYS) } },
})
const eventIdValidator = new Validator(Type.Pick(RefusalQuery, ['event_id']), {
  members: {
    event_id: {
      error: `The event_id field must have 1 to ${EVENT_ID_CHARACTERS_MAX} characters.`,
    },
  },
})

function describeInvalidLength(field: string, max: number): string {
  return `The ${field} field must be an integer from 1 to ${max}.`
}

/** The overview of a tracker, and what went wrong: refusals, and failures by cause. */
export function issueRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database, now } = context
  app.route({
    ...operations.getOverview,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'view_events')
      const { hours = HOURS_DEFAULT } = hoursValidator.validate(request.query)
      const overview = await readOverview(context, { tracker, hours, now: now() })
      return hasPermission(tracker.role, 'read') ? overview : ofEventsAlone(overview)
    },
  })
  app.route({
    ...operations.getEventFlow,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const range = readFlowRange(request.query, now())
      return readEventFlow(database, { trackerId, ...range, now: now() })
    },
  })
  app.route({
    ...operations.listIssues,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const { days = DAYS_DEFAULT } = issueDaysValidator.validate(request.query)
      return listIssues(context, { trackerId, days })
    },
  })
  app.route({
    ...operations.listRefusals,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const { event_id: eventId } = eventIdValidator.validate(request.query)
      if (eventId !== undefined) return listRefusalsOfEvent(context, trackerId, eventId)
      const { days = DAYS_DEFAULT } = refusalDaysValidator.validate(request.query)
      const from = startOfHour(new Date(now().getTime() - days * DAY_MILLISECONDS))
      const causes = await listRefusalCauses(database, { trackerId, from, limit: LISTED_MAX })
      return toRefusalList(from, causes)
    },
  })
}

/** What an events viewer sees: nothing of proposals, the log or the privacy of the workspace. */
function ofEventsAlone(overview: TrackerOverview): TrackerOverview {
  const alerts = overview.alerts.filter(alert => alert.destination_id !== null)
  return { ...overview, alerts, pending_approvals: 0 }
}

async function listIssues(
  { database, now }: DashboardContext,
  { trackerId, days }: { trackerId: string; days: number },
): Promise<IssueList> {
  const from = subtractDays(now(), days - 1)
  const start = `${from}T00:00:00.000Z`
  const [counts, withdrawals] = await Promise.all([
    listIssueCounts(database, { trackerId, from, limit: LISTED_MAX }),
    countPageOnlyWithdrawals(database, { trackerId, from: new Date(start) }),
  ])
  return {
    from: start,
    page_only_withdrawals: withdrawals,
    issues: counts.map(count => ({
      destination_id: count.destinationId,
      class: storedText(count.class),
      code: count.code,
      subcode: count.subcode,
      reason: count.reason && storedText(count.reason),
      attempts: count.attempts,
      failed: count.failed,
      first_seen_at: count.firstAt.toISOString(),
      last_seen_at: count.lastAt.toISOString(),
      events: count.events,
    })),
  }
}

async function listRefusalsOfEvent(
  { database, erasureKey, now }: DashboardContext,
  trackerId: string,
  eventId: string,
): Promise<RefusalList> {
  const from = startOfHour(new Date(now().getTime() - REFUSAL_DAYS * DAY_MILLISECONDS))
  const idDigest = computeKeyedDigest(await erasureKey(), trackerId, digestRefusedId(eventId))
  const search = { trackerId, from, idDigest, limit: LISTED_MAX }
  return toRefusalList(from, await findRefusalsOfEvent(database, search))
}

function toRefusalList(from: Date, causes: readonly RefusalCause[]): RefusalList {
  return {
    from: from.toISOString(),
    refusals: causes.map(cause => ({
      status: cause.status,
      field: cause.field === '' ? null : cause.field,
      // A newer version may have stored a rule that this one does not know.
      rule: isRecognized(cause.rule) ? cause.rule : 'other',
      requests: cause.requests,
      errors: cause.errors,
      first_seen_at: cause.firstAt.toISOString(),
      last_seen_at: cause.lastAt.toISOString(),
      last_request_id: cause.lastRequestId,
    })),
  }
}

function startOfHour(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR_MILLISECONDS) * HOUR_MILLISECONDS)
}
