import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import type {
  ChangedIssue,
  IssueSamples,
  IssueStateName,
  AlertThresholds as ThresholdsView,
} from '@signalbox/contract/session/issues.ts'
import { ISSUE_DAYS } from '@signalbox/contract/session/issues.ts'
import { commitAudited } from '../audit/audit-store.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { DAY_MILLISECONDS, subtractDays } from '../runtime/util/time.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import {
  findIssueEvents,
  type IssueKey,
  sumValueAtStake,
} from '../signals/delivery/issue-list-store.ts'
import { loadEvent } from '../signals/event-reads/read-events.ts'
import { hasRefusalCause } from '../signals/refusals/refusal-list-store.ts'
import { type AlertThresholds, saveThresholds } from '../signals/reports/alert-threshold-store.ts'
import { deleteIssueState, setIssueState } from '../signals/reports/issue-state-store.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { formatIssueId, formatIssueKey, type IssueSubject, parseIssueId } from './issue-list.ts'

/** The subject of an ID in a path; 404 for a text that is none. */
export function readIssueId(id: string): IssueSubject {
  const subject = parseIssueId(id)
  if (subject === null) throw issueNotFound()
  return subject
}

function issueNotFound(): Refusal {
  return Refusal.notFound('Issue not found.')
}

const ACTIONS: Record<IssueStateName, AuditAction> = {
  muted: 'issue.muted',
  resolved: 'issue.resolved',
  open: 'issue.opened',
}

interface IssueChangeRequest {
  user: CurrentUser
  tracker: TrackerIdentity
  subject: IssueSubject
  state: IssueStateName
}

/** Keeps what a person decided about an issue of the last days, and records who did. */
export async function changeIssueState(
  context: DashboardContext,
  { user, tracker: { trackerId, workspaceId }, subject, state }: IssueChangeRequest,
): Promise<ChangedIssue> {
  if (!(await hasHappened(context, trackerId, subject))) throw issueNotFound()
  const at = context.now()
  const key = formatIssueKey(subject)
  await commitAudited(context, async (transaction, record) => {
    if (state === 'open') await deleteIssueState(transaction, { trackerId, key })
    else await setIssueState(transaction, { trackerId, key, at }, state)
    record({
      workspaceId,
      at,
      actor: userActor(user),
      action: ACTIONS[state],
      subject: { type: 'tracker', id: trackerId },
      details: { issue: JSON.parse(key) },
    })
  })
  const decidedAt = state === 'open' ? null : at.toISOString()
  return { id: formatIssueId(subject), state, decided_at: decidedAt }
}

async function hasHappened(
  { database, now }: DashboardContext,
  trackerId: string,
  subject: IssueSubject,
): Promise<boolean> {
  if (subject.kind === 'refusal') {
    const from = new Date(now().getTime() - (ISSUE_DAYS + 1) * DAY_MILLISECONDS)
    return hasRefusalCause(database, { trackerId, from, cause: subject })
  }
  const from = subtractDays(now(), ISSUE_DAYS)
  return (await findIssueEvents(database, { trackerId, from, issue: subject })) !== null
}

/** The latest events of a delivery issue, and the value of all that did not arrive. */
export async function readIssueSamples(
  { database, now }: DashboardContext,
  trackerId: string,
  issue: IssueKey,
): Promise<IssueSamples> {
  const from = subtractDays(now(), ISSUE_DAYS)
  const events = await findIssueEvents(database, { trackerId, from, issue })
  if (events === null) throw issueNotFound()
  const samples: IssueSamples['samples'] = []
  for (const { id: eventId, space } of events) {
    const loaded = await loadEvent(database, trackerId, { eventId, space }).catch(ignoreExpired)
    const delivery = loaded?.deliveries.find(each => each.destinationId === issue.destinationId)
    if (!loaded || !delivery) continue
    const { eventName, eventTime, valueAmount, valueCurrency } = loaded.event
    const message = delivery.lastError?.message
    samples.push({
      event_id: eventId,
      space,
      event_name: eventName,
      event_time: eventTime.toISOString(),
      value:
        valueAmount === null || valueCurrency === null
          ? null
          : { amount: valueAmount, currency: valueCurrency },
      status: String(delivery.status),
      message: typeof message === 'string' ? message : null,
    })
  }
  const stake = await sumValueAtStake(database, { trackerId, issue })
  const atStake = stake && { values: stake.values, is_lower_bound: stake.isLowerBound }
  return { samples, at_stake: atStake }
}

/** An event may have expired since it was counted. */
function ignoreExpired(error: unknown): null {
  if (error instanceof Refusal && error.status === 404) return null
  throw error
}

interface ThresholdRequest {
  user: CurrentUser
  workspaceId: number
  thresholds: ThresholdsView
}

/** Changes from when on a workspace is alerted, and records who did. */
export async function changeThresholds(
  context: DashboardContext,
  { user, workspaceId, thresholds }: ThresholdRequest,
): Promise<void> {
  const at = context.now()
  const stored: AlertThresholds = {
    scoreMin: String(thresholds.score_min),
    scoreFall: String(thresholds.score_fall),
    unexplainedEvents: thresholds.unexplained_events,
    unexplainedPercent: String(thresholds.unexplained_percent),
    unreachableMinutes: thresholds.unreachable_minutes,
  }
  await commitAudited(context, async (transaction, record) => {
    await saveThresholds(transaction, { workspaceId, thresholds: stored, at })
    record({
      workspaceId,
      at,
      actor: userActor(user),
      action: 'alert_thresholds.changed',
      subject: { type: 'workspace', id: String(workspaceId) },
      details: { ...thresholds },
    })
  })
}

export function thresholdsView(thresholds: AlertThresholds): ThresholdsView {
  return {
    score_min: Number(thresholds.scoreMin),
    score_fall: Number(thresholds.scoreFall),
    unexplained_events: thresholds.unexplainedEvents,
    unexplained_percent: Number(thresholds.unexplainedPercent),
    unreachable_minutes: thresholds.unreachableMinutes,
  }
}
