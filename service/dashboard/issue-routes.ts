import { isRecognized, storedText } from '@signalbox/contract/closed-set.ts'
import * as operations from '@signalbox/contract/session/issue-operations.ts'
import {
  ISSUE_DAYS,
  type IssueList,
  REFUSAL_DAYS,
  type RefusalList,
} from '@signalbox/contract/session/issues.ts'
import { OVERVIEW_HOURS_MAX } from '@signalbox/contract/session/overview.ts'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS, subtractDays } from '../runtime/util/time.ts'
import { listIssueCounts } from '../signals/delivery/issue-store.ts'
import { computeKeyedDigest } from '../signals/events/person-identifiers.ts'
import { digestRefusedId } from '../signals/refusals/flush-refusals.ts'
import {
  findRefusalsOfEvent,
  listRefusalCauses,
  type RefusalCause,
} from '../signals/refusals/refusal-store.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { readOverview } from './overview.ts'
import { requireTracker } from './tracker-scope.ts'

const HOURS_DEFAULT = 24
const DAYS_DEFAULT = 7
const LISTED_MAX = 100

type Query = Record<string, unknown>

/** The overview of a tracker, and what went wrong: refusals, and failures by cause. */
export function issueRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database, now } = context
  app.route({
    ...operations.getOverview,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'read')
      const hours = parseLength('hours', request.query as Query, {
        max: OVERVIEW_HOURS_MAX,
        initial: HOURS_DEFAULT,
      })
      return readOverview(database, { tracker, hours, now: now() })
    },
  })
  app.route({
    ...operations.listIssues,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      const days = parseDays(request.query as Query, ISSUE_DAYS)
      return listIssues(context, { trackerId, days })
    },
  })
  app.route({
    ...operations.listRefusals,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'read')
      const query = request.query as Query
      if (query.event_id !== undefined) return listRefusalsOfEvent(context, trackerId, query)
      const days = parseDays(query, REFUSAL_DAYS)
      const from = startOfHour(new Date(now().getTime() - days * DAY_MILLISECONDS))
      const causes = await listRefusalCauses(database, { trackerId, from, limit: LISTED_MAX })
      return toRefusalList(from, causes)
    },
  })
}

async function listIssues(
  { database, now }: DashboardContext,
  { trackerId, days }: { trackerId: string; days: number },
): Promise<IssueList> {
  const from = subtractDays(now(), days - 1)
  const counts = await listIssueCounts(database, { trackerId, from, limit: LISTED_MAX })
  return {
    from: `${from}T00:00:00.000Z`,
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
  { event_id: eventId }: Query,
): Promise<RefusalList> {
  if (typeof eventId !== 'string' || eventId === '' || !isIdLength(eventId)) {
    const sentence = `The event_id field must have 1 to ${EVENT_ID_CHARACTERS_MAX} characters.`
    throw Refusal.ofFields({ event_id: [sentence] })
  }
  const from = startOfHour(new Date(now().getTime() - REFUSAL_DAYS * DAY_MILLISECONDS))
  const idDigest = computeKeyedDigest(await erasureKey(), trackerId, digestRefusedId(eventId))
  const search = { trackerId, from, idDigest, limit: LISTED_MAX }
  return toRefusalList(from, await findRefusalsOfEvent(database, search))
}

function isIdLength(eventId: string): boolean {
  return [...eventId].length <= EVENT_ID_CHARACTERS_MAX
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

function parseDays(query: Query, max: number): number {
  return parseLength('days', query, { max, initial: DAYS_DEFAULT })
}

/** The length of a period. Throws a 422 refusal for anything but an integer up to the maximum. */
function parseLength(
  name: string,
  query: Query,
  { max, initial }: { max: number; initial: number },
): number {
  const text = query[name]
  if (text === undefined) return initial
  const length = typeof text === 'string' && /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (length >= 1 && length <= max) return length
  throw Refusal.ofFields({ [name]: [`The ${name} field must be an integer from 1 to ${max}.`] })
}

function startOfHour(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR_MILLISECONDS) * HOUR_MILLISECONDS)
}
