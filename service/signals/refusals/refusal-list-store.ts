import { keysOf, parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { REFUSAL_RULES, type RefusalRule } from '@signalbox/contract/refusal-rules.ts'
import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral, utcDay } from '../../runtime/db/sql-fragments.ts'
import { SAMPLES_MAX } from './refusal-recorder.ts'
import type { RefusedSample } from './refusal-sample.ts'
import { SPLIT } from './refusal-store.ts'

const RULES = keysOf(REFUSAL_RULES)

/** A cause of refusals of a tracker, over some hours. */
export interface RefusalCause {
  status: number
  field: string
  rule: Stored<RefusalRule>
  requests: number
  errors: number
  firstAt: Date
  lastAt: Date
  lastRequestId: string
  /** What the API said last; null when it named no field, or an earlier version counted. */
  sentence: string | null
  /** The latest requests, at most three. */
  samples: RefusedSample[]
}

interface RefusalQuery {
  trackerId: string
  /** The first hour. */
  from: Date
  limit: number
}

/** The causes since an hour, the most frequent ones first. */
export async function listRefusalCauses(
  { pool }: Database,
  { trackerId, from, limit }: RefusalQuery,
): Promise<RefusalCause[]> {
  const { rows } = await pool.query({
    name: 'list-refusal-causes',
    text: `select status, field, rule, sum(requests) as requests, sum(errors) as errors,
             min(first_at) as first_at, max(last_at) as last_at,
             (array_agg(last_request_id order by last_at desc))[1] as last_request_id,
             (array_agg(sentence order by last_at desc) filter (where sentence <> ''))[1]
               as sentence,
             (array_agg(array_to_string(samples, E'\\x1f') order by last_at desc)
               filter (where samples <> '{}'))[1:${SAMPLES_MAX}] as samples
           from refusals where tracker_id = $1::uuid and hour >= $2::timestamptz
           group by status, field, rule
           order by sum(errors) desc, status, field, rule limit $3::integer`,
    values: [trackerId, from, limit],
  })
  return rows.map(toRefusalCause)
}

/** The causes in one hour that name an event ID, latest first. */
export async function findRefusalsOfEvent(
  { pool }: Database,
  { trackerId, from, limit, idDigest }: RefusalQuery & { idDigest: string },
): Promise<RefusalCause[]> {
  const { rows } = await pool.query({
    name: 'find-refusals-of-event',
    text: `select status, field, rule, requests, errors, first_at, last_at, last_request_id,
             sentence, samples
           from refusals
           where tracker_id = $1::uuid and hour >= $2::timestamptz
             and id_digests @> array[$4::text]
           order by hour desc, status, field, rule limit $3::integer`,
    values: [trackerId, from, limit, idDigest],
  })
  return rows.map(toRefusalCause)
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
function toRefusalCause(row: any): RefusalCause {
  return {
    status: row.status,
    field: row.field,
    rule: parseStored(RULES, row.rule),
    requests: row.requests,
    errors: row.errors,
    firstAt: row.first_at,
    lastAt: row.last_at,
    lastRequestId: row.last_request_id,
    sentence: row.sentence || null,
    samples: readSamples(row.samples ?? []),
  }
}

/** Each text has the samples of an hour, or one sample. */
function readSamples(texts: readonly string[]): RefusedSample[] {
  const samples = texts
    .flatMap(text => text.split(SPLIT))
    .map(text => {
      const [milliseconds = '', requestId = '', ...form] = text.split(' ')
      return { at: new Date(Number(milliseconds)), requestId, form: form.join(' ') }
    })
  samples.sort((one, other) => other.at.getTime() - one.at.getTime())
  return samples.slice(0, SAMPLES_MAX)
}

export type RefusalKey = Pick<RefusalCause, 'status' | 'field'> & { rule: string }

export interface DayOfRefusals extends RefusalKey {
  /** UTC day, YYYY-MM-DD. */
  day: string
  errors: number
}

export interface ValueOfRefusals extends RefusalKey {
  currency: string
  /** Exact decimal text. */
  amount: string
  requests: number
}

interface ChosenCauses {
  trackerId: string
  from: Date
  causes: readonly RefusalKey[]
}

const CHOSEN = `join unnest($3::smallint[], $4::text[], $5::text[]) as chosen(status, field, rule)
  using (status, field, rule)`

/** A cause that is given twice is joined once. */
function chosenValues({ trackerId, from, causes: given }: ChosenCauses): unknown[] {
  const keyOf = ({ status, field, rule }: RefusalKey) => JSON.stringify([status, field, rule])
  const causes = [...new Map(given.map(cause => [keyOf(cause), cause])).values()]
  return [
    trackerId,
    from,
    arrayLiteral(causes.map(({ status }) => String(status))),
    arrayLiteral(causes.map(({ field }) => field)),
    arrayLiteral(causes.map(({ rule }) => rule)),
  ]
}

/** How often each cause was named on each UTC day. */
export async function countRefusalsByDay(
  { pool }: Database,
  chosen: ChosenCauses,
): Promise<DayOfRefusals[]> {
  const { rows } = await pool.query({
    name: 'count-refusals-by-day',
    text: `select status, field, rule, ${utcDay('hour')} as day, sum(errors) as errors
           from refusals ${CHOSEN}
           where tracker_id = $1::uuid and hour >= $2::timestamptz
           group by 1, 2, 3, 4 order by 4`,
    values: chosenValues(chosen),
  })
  return rows
}

/** The value of the refused events of each cause, repeats included. */
export async function sumRefusalValues(
  { pool }: Database,
  chosen: ChosenCauses,
): Promise<ValueOfRefusals[]> {
  const { rows } = await pool.query({
    name: 'sum-refusal-values',
    text: `select status, field, rule, currency, trim_scale(sum(amount))::text as amount,
             sum(requests) as requests
           from refusal_values ${CHOSEN}
           where tracker_id = $1::uuid and hour >= $2::timestamptz
           group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    values: chosenValues(chosen),
  })
  return rows
}

/** Whether a cause is counted since an hour. */
export async function hasRefusalCause(
  { pool }: Database,
  { trackerId, from, cause }: Omit<ChosenCauses, 'causes'> & { cause: RefusalKey },
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'has-refusal-cause',
    text: `select 1 from refusals
           where tracker_id = $1::uuid and hour >= $2::timestamptz and status = $3::smallint
             and field = $4::text and rule = $5::text
           limit 1`,
    values: [trackerId, from, cause.status, cause.field, cause.rule],
  })
  return rows.length > 0
}

/** Refused requests by hour and rule. */
export async function countRefusalsByHour(
  { pool }: Database,
  { trackerId, from }: Pick<RefusalQuery, 'trackerId' | 'from'>,
): Promise<{ hour: Date; reason: Stored<RefusalRule>; count: number }[]> {
  const { rows } = await pool.query({
    name: 'count-refusals-by-hour',
    text: `select hour, rule as reason, sum(requests) as count from refusals
           where tracker_id = $1::uuid and hour >= $2::timestamptz
           group by hour, rule having sum(requests) > 0 order by hour, rule`,
    values: [trackerId, from],
  })
  return rows.map(({ hour, reason, count }) => ({
    hour,
    reason: parseStored(RULES, reason),
    count,
  }))
}
