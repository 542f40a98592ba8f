import type { Database } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { REFUSED_IDS_MAX, type RefusalCount, SAMPLES_MAX } from './refusal-recorder.ts'
import { formatMillionths, type RefusedSample } from './refusal-sample.ts'

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
  { name: 'sentence', type: 'text', text: ({ sentence }) => sentence },
  { name: 'samples', type: 'text', text: ({ samples }) => samples.map(toSampleText).join(SPLIT) },
]

/** Between samples; no part of one has it. */
export const SPLIT = '\x1f'

function toSampleText({ at, requestId, form }: RefusedSample): string {
  return [at.getTime(), requestId, form].join(' ')
}

const KNOWN_IDS = Array.from({ length: REFUSED_IDS_MAX }).reduce<string>(
  (known, _, index) => `array_remove(${known}, excluded.id_digests[${index + 1}])`,
  'refusals.id_digests',
)

/** In the order of the keys, so that two processes wait for each other instead of deadlocking. */
const ADD_REFUSALS = `
  insert into refusals (tracker_id, hour, status, field, rule, requests, errors, first_at, last_at,
    last_request_id, id_digests, sentence, samples)
  select $1::uuid, hour, status, field, rule, requests, errors, first_at, last_at,
    last_request_id, string_to_array(id_digests, ' '), sentence,
    string_to_array(samples, E'\\x1f')
  from ${unnestColumns(COUNT_COLUMNS, { alias: 'given', firstParameter: 2 })}
  order by hour, status, field, rule
  on conflict (tracker_id, hour, status, field, rule) do update set
    requests = refusals.requests + excluded.requests,
    errors = refusals.errors + excluded.errors,
    first_at = least(refusals.first_at, excluded.first_at),
    last_at = greatest(refusals.last_at, excluded.last_at),
    last_request_id = case when excluded.last_at >= refusals.last_at
      then excluded.last_request_id else refusals.last_request_id end,
    sentence = case when excluded.last_at >= refusals.last_at
      then excluded.sentence else refusals.sentence end,
    samples = (excluded.samples || refusals.samples)[1:${SAMPLES_MAX}],
    id_digests = (excluded.id_digests || ${KNOWN_IDS})[1:${REFUSED_IDS_MAX}]`

interface ValueOfCount extends Pick<StoredCount, 'hour' | 'status' | 'field' | 'rule'> {
  currency: string
  amount: string
  requests: number
}

const VALUE_COLUMNS: BatchColumn<ValueOfCount>[] = [
  { name: 'hour', type: 'timestamptz', text: ({ hour }) => hour.toISOString() },
  { name: 'status', type: 'smallint', text: ({ status }) => String(status) },
  { name: 'field', type: 'text', text: ({ field }) => field },
  { name: 'rule', type: 'text', text: ({ rule }) => rule },
  { name: 'currency', type: 'text', text: ({ currency }) => currency },
  { name: 'amount', type: 'numeric', text: ({ amount }) => amount },
  { name: 'requests', type: 'integer', text: ({ requests }) => String(requests) },
]

const ADD_VALUES = `
  insert into refusal_values (tracker_id, hour, status, field, rule, currency, amount, requests)
  select $1::uuid, hour, status, field, rule, currency, amount, requests
  from ${unnestColumns(VALUE_COLUMNS, { alias: 'given', firstParameter: 2 })}
  order by hour, status, field, rule, currency
  on conflict (tracker_id, hour, status, field, rule, currency) do update set
    amount = refusal_values.amount + excluded.amount,
    requests = refusal_values.requests + excluded.requests`

async function addValues(
  { pool }: Database,
  trackerId: string,
  counts: readonly StoredCount[],
): Promise<void> {
  const values = counts.flatMap(({ hour, status, field, rule, values }) =>
    [...values].map(([currency, { millionths, requests }]) => ({
      hour,
      status,
      field,
      rule,
      currency,
      requests,
      amount: formatMillionths(millionths),
    })),
  )
  if (values.length === 0) return
  const parameters = [trackerId, ...toArrayParameters(VALUE_COLUMNS, values)]
  await pool.query({ name: 'add-refusal-values', text: ADD_VALUES, values: parameters })
}

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
    await addValues(database, trackerId, fitting)
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
    samples: [...first.samples, ...second.samples]
      .sort((one, other) => other.at.getTime() - one.at.getTime())
      .slice(0, SAMPLES_MAX),
    values: mergeValues(first.values, second.values),
  }
}

function mergeValues(first: StoredCount['values'], second: StoredCount['values']) {
  const merged = new Map(first)
  for (const [currency, { millionths, requests }] of second) {
    const known = merged.get(currency) ?? { millionths: 0n, requests: 0 }
    merged.set(currency, {
      millionths: known.millionths + millionths,
      requests: known.requests + requests,
    })
  }
  return merged
}

function startOfDay(time: Date): number {
  return Math.floor(time.getTime() / DAY_MILLISECONDS) * DAY_MILLISECONDS
}
