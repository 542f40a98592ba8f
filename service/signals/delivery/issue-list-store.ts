import { parseStored, type Stored, storedText } from '@signalbox/contract/closed-set.ts'
import {
  FAILURE_CLASSES,
  type FailureClass,
  ISSUE_REASONS,
  type IssueReason,
} from '@signalbox/contract/reasons.ts'
import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import { type EventSpace, SPACE_NUMBERS } from '../events/event-record.ts'
import { FAILED_STATUSES } from './delivery-status.ts'
import { CAUSE, NO_CODE, SAMPLES_MAX, TIME_SEPARATOR } from './issue-store.ts'
import { causePatterns } from './replay-store.ts'

const SAMPLE_SEPARATOR = '\x1f'

/** A cause at a destination, over some days. */
export interface IssueCount {
  destinationId: string
  class: Stored<FailureClass>
  /** Null for no code. */
  code: number | null
  subcode: number | null
  /** Why nothing was sent, or a warning; null when the platform's answer says it. */
  reason: Stored<IssueReason> | null
  attempts: number
  failed: number
  firstAt: Date
  lastAt: Date
  /** The latest events, at most three. */
  events: { id: string; space: EventSpace }[]
}

/** The causes of a tracker since a UTC day, the latest first. */
export async function listIssueCounts(
  { pool }: Database,
  { trackerId, from, limit }: { trackerId: string; from: string; limit: number },
): Promise<IssueCount[]> {
  const { rows } = await pool.query({
    name: 'list-issue-counts',
    text: `select destination_id, ${CAUSE}, sum(attempts) as attempts, sum(failed) as failed,
             min(first_at) as first_at, max(last_at) as last_at,
             string_agg(array_to_string(event_ids, E'\\x1f'), E'\\x1f'
               order by last_at desc, slot) as event_ids
           from delivery_issues where tracker_id = $1::uuid and day >= $2::date
           group by destination_id, ${CAUSE}
           order by max(last_at) desc, destination_id, ${CAUSE} limit $3::integer`,
    values: [trackerId, from, limit],
  })
  return rows.map(row => ({
    destinationId: row.destination_id,
    class: parseStored(FAILURE_CLASSES, row.class),
    code: row.code === NO_CODE ? null : row.code,
    subcode: row.subcode === NO_CODE ? null : row.subcode,
    reason: row.reason === '' ? null : parseStored(ISSUE_REASONS, row.reason),
    attempts: row.attempts,
    failed: row.failed,
    firstAt: row.first_at,
    lastAt: row.last_at,
    events: readSamples(String(row.event_ids)),
  }))
}

/**
 * The latest events of all shards. A shard has its own latest ones, in their order. Samples from
 * before they carried a time come last.
 */
function readSamples(text: string): IssueCount['events'] {
  const samples = text.split(SAMPLE_SEPARATOR).map(sample => {
    const [event = '', milliseconds = '0'] = sample.split(TIME_SEPARATOR)
    return { event, milliseconds: Number(milliseconds) }
  })
  samples.sort((one, other) => other.milliseconds - one.milliseconds)
  return [...new Set(samples.map(({ event }) => event))].slice(0, SAMPLES_MAX).map(toEvent)
}

/** An event from before there were two spaces is found in the space of secrets. */
function toEvent(text: string): { id: string; space: EventSpace } {
  const isOfPage = text.startsWith(`${SPACE_NUMBERS.publishable}:`)
  return { id: text.slice(text.indexOf(':') + 1), space: isOfPage ? 'publishable' : 'secret' }
}

/** A cause at a destination, as it is stored: -1 for no code, and an empty text for no reason. */
export interface IssueKey {
  destinationId: string
  class: string
  code: number
  subcode: number
  reason: string
}

export function issueKeyOf(count: IssueCount): IssueKey {
  const { destinationId, code, subcode, reason } = count
  return {
    destinationId,
    class: storedText(count.class),
    code: code ?? NO_CODE,
    subcode: subcode ?? NO_CODE,
    reason: reason === null ? '' : storedText(reason),
  }
}

export interface DayOfIssue extends IssueKey {
  /** UTC day, YYYY-MM-DD. */
  day: string
  attempts: number
}

interface ChosenIssues {
  trackerId: string
  /** UTC day, YYYY-MM-DD. */
  from: string
  issues: readonly IssueKey[]
}

/** How often each cause was answered on each UTC day: by the primary key of each. */
export async function countIssuesByDay(
  { pool }: Database,
  { trackerId, from, issues }: ChosenIssues,
): Promise<DayOfIssue[]> {
  const { rows } = await pool.query({
    name: 'count-issues-by-day',
    text: `select destination_id as "destinationId", ${CAUSE}, day, sum(attempts) as attempts
           from delivery_issues
           join unnest($3::uuid[], $4::text[], $5::integer[], $6::integer[], $7::text[])
             as chosen(destination_id, ${CAUSE}) using (destination_id, ${CAUSE})
           where tracker_id = $1::uuid and day >= $2::date
           group by destination_id, ${CAUSE}, day order by day`,
    values: [
      trackerId,
      from,
      arrayLiteral(issues.map(({ destinationId }) => destinationId)),
      arrayLiteral(issues.map(issue => issue.class)),
      arrayLiteral(issues.map(({ code }) => String(code))),
      arrayLiteral(issues.map(({ subcode }) => String(subcode))),
      arrayLiteral(issues.map(({ reason }) => reason)),
    ],
  })
  return rows
}

interface OneIssue {
  trackerId: string
  from: string
  issue: IssueKey
}

/** The latest events with a cause since a UTC day, at most three; null when it did not happen. */
export async function findIssueEvents(
  { pool }: Database,
  { trackerId, from, issue }: OneIssue,
): Promise<IssueCount['events'] | null> {
  const { rows } = await pool.query({
    name: 'find-issue-events',
    text: `select string_agg(array_to_string(event_ids, E'\\x1f'), E'\\x1f'
             order by last_at desc, slot) as event_ids
           from delivery_issues
           where tracker_id = $1::uuid and destination_id = $2::uuid and day >= $3::date
             and class = $4::text and code = $5::integer and subcode = $6::integer
             and reason = $7::text`,
    values: [
      trackerId,
      issue.destinationId,
      from,
      issue.class,
      issue.code,
      issue.subcode,
      issue.reason,
    ],
  })
  const [row] = rows
  return row?.event_ids ? readSamples(row.event_ids) : null
}

/** Deliveries of each kind that are looked at for their value. */
const VALUED_MAX = 2_000

/** The values of events that did not arrive because of a cause. */
export interface ValueAtStake {
  values: { currency: string; amount: string; events: number }[]
  /** There are more events than are read. */
  isLowerBound: boolean
}

/**
 * What waits or failed for good with this cause as its last error: the newest failures, and what
 * waits first. A cause without an answer of the platform has no such mark, and gives null.
 */
export async function sumValueAtStake(
  { pool }: Database,
  { trackerId, issue }: Omit<OneIssue, 'from'>,
): Promise<ValueAtStake | null> {
  const { class: name, code, subcode } = issue
  if (name === 'local') return null
  const codeOf = (given: number) => (given === NO_CODE ? null : given)
  const patterns = causePatterns({ class: name, code: codeOf(code), subcode: codeOf(subcode) })
  const { rows } = await pool.query({
    name: 'sum-value-at-stake',
    text: VALUE_AT_STAKE,
    values: [trackerId, issue.destinationId, patterns, FAILED_STATUSES, VALUED_MAX],
  })
  const values = rows.filter(({ currency, amount }) => currency !== null && amount !== null)
  return {
    values: values.map(({ currency, amount, events }) => ({ currency, amount, events })),
    isLowerBound: (rows[0]?.read ?? 0) >= VALUED_MAX,
  }
}

/**
 * The rows are limited before they are compared: a text that matches none would else read all that
 * waits or failed. Their order is that of the index.
 */
const VALUE_AT_STAKE = `
  with queued as materialized (
    select created_at, event_id, space, is_test, last_error::text as error from delivery_queue
    where tracker_id = $1::uuid and destination_id = $2::uuid
    order by next_attempt_at limit $5::integer
  ), failed as materialized (
    select created_at, event_id, space, is_test, last_error::text as error, destination_id, status
    from deliveries
    where tracker_id = $1::uuid and replayable_until is not null
    order by replayable_until desc limit $5::integer
  ), stuck as materialized (
    select created_at, event_id, space from queued where not is_test and error ~ all($3::text[])
    union all
    select created_at, event_id, space from failed
    where not is_test and error ~ all($3::text[]) and destination_id = $2::uuid
      and status = any($4::text[])
  )
  select event.currency, trim_scale(sum(event.amount))::text as amount, count(*) as events,
    greatest((select count(*) from queued), (select count(*) from failed)) as read
  from stuck
  cross join lateral (
    select value_currency as currency, value_amount as amount from events
    where tracker_id = $1::uuid and created_at = stuck.created_at
      and event_id = stuck.event_id and space = stuck.space
    limit 1
  ) event
  group by event.currency order by event.currency`
