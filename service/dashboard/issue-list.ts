import { isRecognized, storedText } from '@signalbox/contract/closed-set.ts'
import type { IssueList, RefusalList } from '@signalbox/contract/session/issues.ts'
import { isUuid } from '../runtime/util/ids.ts'
import { subtractDays } from '../runtime/util/time.ts'
import {
  countIssuesByDay,
  type IssueKey,
  issueKeyOf,
  listIssueCounts,
} from '../signals/delivery/issue-list-store.ts'
import {
  countRefusalsByDay,
  listRefusalCauses,
  type RefusalCause,
  type RefusalKey,
  sumRefusalValues,
} from '../signals/refusals/refusal-list-store.ts'
import { type IssueState, listIssueStates } from '../signals/reports/issue-state-store.ts'
import { countPageOnlyWithdrawals } from '../signals/reports/withdrawal-count-store.ts'
import type { DashboardContext } from './dashboard-context.ts'

export const LISTED_MAX = 100

/** What an issue is about: refusals by one rule, or deliveries with one cause. */
export type IssueSubject = ({ kind: 'refusal' } & RefusalKey) | ({ kind: 'delivery' } & IssueKey)

/** The text under which a decision is kept. */
export function formatIssueKey(subject: IssueSubject): string {
  if (subject.kind === 'refusal') {
    const { kind, status, field, rule } = subject
    return JSON.stringify([kind, status, field, rule])
  }
  const { kind, destinationId, class: name, code, subcode, reason } = subject
  return JSON.stringify([kind, destinationId, name, code, subcode, reason])
}

/** Null for a text that is no ID of an issue. */
export function parseIssueId(id: string): IssueSubject | null {
  try {
    const [kind, ...rest]: unknown[] = JSON.parse(Buffer.from(id, 'base64url').toString('utf8'))
    if (kind === 'refusal') {
      const [status, field, rule] = rest
      const isValid = isSmall(status) && isText(field) && isText(rule)
      return isValid ? { kind, status, field, rule } : null
    }
    const [destinationId, name, code, subcode, reason] = rest
    const isValid = isText(destinationId) && isUuid(destinationId) && isText(name)
    if (kind !== 'delivery' || !isValid) return null
    if (!isSmall(code) || !isSmall(subcode) || !isText(reason)) return null
    return { kind, destinationId, class: name, code, subcode, reason }
  } catch {
    return null
  }
}

function isText(input: unknown): input is string {
  return typeof input === 'string' && !input.includes('\0')
}

/** Fits the columns. */
function isSmall(input: unknown): input is number {
  return Number.isInteger(input) && Math.abs(Number(input)) <= 2_147_483_647
}

export function formatIssueId(subject: IssueSubject): string {
  return Buffer.from(formatIssueKey(subject)).toString('base64url')
}

/** A resolved issue that happens again is open, without anyone doing something. */
function stateView(subject: IssueSubject, lastAt: Date, states: readonly IssueState[]) {
  const key = formatIssueKey(subject)
  const decided = states.find(state => state.key === key)
  const reopened = decided?.state === 'resolved' && lastAt > decided.changedAt
  return {
    id: formatIssueId(subject),
    state: !decided || reopened ? ('open' as const) : decided.state,
    reopened,
    decided_at: decided?.changedAt.toISOString() ?? null,
  }
}

interface DeliveryIssueQuery {
  trackerId: string
  days: number
}

/** The causes of failed deliveries in some days, with their trend and what people decided. */
export async function readIssues(
  { database, now }: Pick<DashboardContext, 'database' | 'now'>,
  { trackerId, days }: DeliveryIssueQuery,
): Promise<IssueList> {
  const from = subtractDays(now(), days - 1)
  const start = `${from}T00:00:00.000Z`
  const [counts, withdrawals, states] = await Promise.all([
    listIssueCounts(database, { trackerId, from, limit: LISTED_MAX }),
    countPageOnlyWithdrawals(database, { trackerId, from: new Date(start) }),
    listIssueStates(database, trackerId),
  ])
  const trend = await countIssuesByDay(database, {
    trackerId,
    from,
    issues: counts.map(issueKeyOf),
  })
  const byKey = Map.groupBy(trend, day => formatIssueKey({ kind: 'delivery', ...day }))
  return {
    from: start,
    page_only_withdrawals: withdrawals,
    issues: counts.map(count => {
      const subject: IssueSubject = { kind: 'delivery', ...issueKeyOf(count) }
      const own = byKey.get(formatIssueKey(subject)) ?? []
      return {
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
        ...stateView(subject, count.lastAt, states),
        days: own.map(({ day, attempts }) => ({ date: day, count: attempts })),
      }
    }),
  }
}

interface RefusalListQuery {
  trackerId: string
  from: Date
  /** Left out: the most frequent causes. */
  causes?: readonly RefusalCause[]
}

/** The causes of refusals since an hour, with their trend, values and what people decided. */
export async function readRefusals(
  { database }: Pick<DashboardContext, 'database'>,
  { trackerId, from, ...given }: RefusalListQuery,
): Promise<RefusalList> {
  const listed = { trackerId, from, limit: LISTED_MAX }
  const causes = given.causes ?? (await listRefusalCauses(database, listed))
  const chosen = { trackerId, from, causes: causes.map(refusalKeyOf) }
  const [days, values, states] = await Promise.all([
    countRefusalsByDay(database, chosen),
    sumRefusalValues(database, chosen),
    listIssueStates(database, trackerId),
  ])
  const isOf = (subject: RefusalKey) => (row: RefusalKey) =>
    row.status === subject.status && row.field === subject.field && row.rule === subject.rule
  return {
    from: from.toISOString(),
    refusals: causes.map(cause => {
      const subject = { kind: 'refusal' as const, ...refusalKeyOf(cause) }
      return {
        status: cause.status,
        field: cause.field === '' ? null : cause.field,
        // A newer version may have stored a rule that this one does not know.
        rule: isRecognized(cause.rule) ? cause.rule : 'other',
        requests: cause.requests,
        errors: cause.errors,
        first_seen_at: cause.firstAt.toISOString(),
        last_seen_at: cause.lastAt.toISOString(),
        last_request_id: cause.lastRequestId,
        ...stateView(subject, cause.lastAt, states),
        days: days.filter(isOf(subject)).map(({ day, errors }) => ({ date: day, count: errors })),
        message: cause.sentence,
        samples: cause.samples.map(({ at, requestId, form }) => ({
          at: at.toISOString(),
          request_id: requestId,
          form,
        })),
        values: values
          .filter(isOf(subject))
          .map(({ currency, amount, requests }) => ({ currency, amount, events: requests })),
      }
    }),
  }
}

function refusalKeyOf({ status, field, rule }: RefusalCause): RefusalKey {
  return { status, field, rule: storedText(rule) }
}
