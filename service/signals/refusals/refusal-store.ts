import { keysOf, parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { REFUSAL_RULES, type RefusalRule } from '@signalbox/contract/refusal-rules.ts'
import type { Selectable } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { REFUSED_IDS_MAX, type RefusalCount } from './refusal-recorder.ts'

/** A count with its event IDs as keyed digests. */
export interface StoredCount extends Omit<RefusalCount, 'sender' | 'eventIds'> {
  idDigests: readonly string[]
}

/** Rows of a tracker and UTC day. */
const REFUSAL_ROWS_MAX = 1_000
/**
 * From here on, new causes are stored as `other`: one row per hour and status, which fit into the
 * rest, as do the rows of processes that write at the same time.
 */
const CAUSES_MAX = 800

const COUNT_COLUMNS: BatchColumn<StoredCount>[] = [
  { name: 'hour', type: 'timestamptz', text: ({ hour }) => hour.toISOString() },
  { name: 'status', type: 'smallint', text: ({ status }) => String(status) },
  { name: 'field', type: 'text', text: ({ field }) => field },
  { name: 'rule', type: 'text', text: ({ rule }) => rule },
  { name: 'requests', type: 'integer', text: ({ requests }) => String(requests) },
  { name: 'errors', type: 'integer', text: ({ errors }) => String(errors) },
  { name: 'first_at', type: 'timestamptz', text: ({ firstAt }) => firstAt.toISOString() },
  { name: 'last_at', type: 'timestamptz', text: ({ lastAt }) => lastAt.toISOString() },
  { name: 'last_request_id', type: 'text', text: ({ lastRequestId }) => lastRequestId },
  { name: 'id_digests', type: 'text', text: ({ idDigests }) => idDigests.join(' ') },
]

const KNOWN_IDS = Array.from({ length: REFUSED_IDS_MAX }).reduce<string>(
  (known, _, index) => `array_remove(${known}, excluded.id_digests[${index + 1}])`,
  'refusals.id_digests',
)

/** In the order of the keys, so that two processes wait for each other instead of deadlocking. */
const ADD_REFUSALS = `
  insert into refusals (tracker_id, hour, status, field, rule, requests, errors, first_at, last_at,
    last_request_id, id_digests)
  select $1::uuid, hour, status, field, rule, requests, errors, first_at, last_at,
    last_request_id, string_to_array(id_digests, ' ')
  from ${unnestColumns(COUNT_COLUMNS, { alias: 'given', firstParameter: 2 })}
  order by hour, status, field, rule
  on conflict (tracker_id, hour, status, field, rule) do update set
    requests = refusals.requests + excluded.requests,
    errors = refusals.errors + excluded.errors,
    first_at = least(refusals.first_at, excluded.first_at),
    last_at = greatest(refusals.last_at, excluded.last_at),
    last_request_id = case when excluded.last_at >= refusals.last_at
      then excluded.last_request_id else refusals.last_request_id end,
    id_digests = (excluded.id_digests || ${KNOWN_IDS})[1:${REFUSED_IDS_MAX}]`

/** Adds counts of one tracker. Causes beyond the limit of a day are added as `other`. */
export async function addRefusals(
  database: Database,
  trackerId: string,
  counts: readonly StoredCount[],
): Promise<void> {
  for (const [day, ofDay] of Map.groupBy(counts, ({ hour }) => startOfDay(hour))) {
    const fitting = await foldNewCauses(database, { trackerId, day, counts: ofDay })
    const values = [trackerId, ...toArrayParameters(COUNT_COLUMNS, fitting)]
    await database.pool.query({ name: 'add-refusals', text: ADD_REFUSALS, values })
  }
}

interface DayCounts {
  trackerId: string
  /** Milliseconds since 1970. */
  day: number
  counts: readonly StoredCount[]
}

/** Also joins counts of one cause: several keys of a tracker may have been refused alike. */
async function foldNewCauses(
  { pool }: Database,
  { trackerId, day, counts }: DayCounts,
): Promise<readonly StoredCount[]> {
  const { rows } = await pool.query({
    name: 'find-refusal-causes',
    text: `select hour, status, field, rule from refusals
           where tracker_id = $1::uuid and hour >= $2::timestamptz and hour < $3::timestamptz
           limit ${REFUSAL_ROWS_MAX}`,
    values: [trackerId, new Date(day), new Date(day + DAY_MILLISECONDS)],
  })
  const known = new Set(rows.map(formatCause))
  let free = CAUSES_MAX - rows.length
  const folded = new Map<string, StoredCount>()
  for (const count of counts) {
    const isKnown = known.has(formatCause(count))
    if (!isKnown) free -= 1
    const stored = isKnown || free >= 0 ? count : { ...count, field: '', rule: 'other' as const }
    const key = formatCause(stored)
    const earlier = folded.get(key)
    folded.set(key, earlier ? mergeCounts(earlier, stored) : stored)
  }
  return [...folded.values()]
}

function formatCause({
  hour,
  status,
  field,
  rule,
}: Pick<StoredCount, 'hour' | 'status' | 'field' | 'rule'>): string {
  return [hour.getTime(), status, field, rule].join(' ')
}

function mergeCounts(first: StoredCount, second: StoredCount): StoredCount {
  const latest = first.lastAt > second.lastAt ? first : second
  return {
    ...latest,
    requests: first.requests + second.requests,
    errors: first.errors + second.errors,
    firstAt: first.firstAt < second.firstAt ? first.firstAt : second.firstAt,
    idDigests: [...new Set([...first.idDigests, ...second.idDigests])].slice(-REFUSED_IDS_MAX),
  }
}

function startOfDay(time: Date): number {
  return Math.floor(time.getTime() / DAY_MILLISECONDS) * DAY_MILLISECONDS
}

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
             (array_agg(last_request_id order by last_at desc))[1] as last_request_id
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
    text: `select status, field, rule, requests, errors, first_at, last_at, last_request_id
           from refusals
           where tracker_id = $1::uuid and hour >= $2::timestamptz
             and id_digests @> array[$4::text]
           order by hour desc, status, field, rule limit $3::integer`,
    values: [trackerId, from, limit, idDigest],
  })
  return rows.map(toRefusalCause)
}

type RefusalRow = Omit<Selectable<Tables['refusals']>, 'tracker_id' | 'hour' | 'id_digests'>

function toRefusalCause(row: RefusalRow): RefusalCause {
  return {
    status: row.status,
    field: row.field,
    rule: parseStored(RULES, row.rule),
    requests: row.requests,
    errors: row.errors,
    firstAt: row.first_at,
    lastAt: row.last_at,
    lastRequestId: row.last_request_id,
  }
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
