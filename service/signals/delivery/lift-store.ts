import { CompiledQuery } from 'kysely'
import { type Database, isCitusCluster, type Transaction } from '../../runtime/db/database.ts'
import {
  ATTEMPT_COLUMNS,
  countPlanned,
  FIXED_COLUMNS,
  OUTCOME_COLUMNS,
  outcomeLiterals,
  REPLAY_COLUMNS,
  rowsFromJson,
  rowsToJson,
  type StoredDelivery,
} from './delivery-store.ts'
import { uncountOutcomes } from './sent-counts-store.ts'

/** Columns that a delivery takes back into the queue unchanged. */
const UNCHANGED_COLUMNS = [...FIXED_COLUMNS, ...REPLAY_COLUMNS, ...ATTEMPT_COLUMNS, 'last_error']
const UNCHANGED_NAMES = UNCHANGED_COLUMNS.join(', ')
const MOVED_COLUMNS = [...UNCHANGED_COLUMNS, ...OUTCOME_COLUMNS]

const DELETE_STOPPED = `
  with found as materialized (
    select stopped.*
    from unnest($2::timestamptz[], $3::bigint[]) as given(created_at, id)
    cross join lateral (
      select tracker_id, created_at, id from deliveries
      where tracker_id = $1::uuid and created_at = given.created_at and id = given.id
      limit 1
    ) stopped
  ), moved as (
    delete from deliveries using found
    where deliveries.tracker_id = found.tracker_id and deliveries.created_at = found.created_at
      and deliveries.id = found.id and deliveries.tracker_id = $1::uuid
      and deliveries.status = 'skipped:consent'
      and deliveries.status_reason = 'withdrawn_by_page'
    returning deliveries.*
  )`

const QUEUED = outcomeLiterals({ status: 'queued', reason: 'withdrawal_lifted' })

const insertQueued = (source: string, at: string) => `
  insert into delivery_queue (${UNCHANGED_NAMES}, status, status_reason, next_attempt_at,
    updated_at)
  select ${UNCHANGED_NAMES}, ${QUEUED.status}, ${QUEUED.reason}, ${at}::timestamptz,
    ${at}::timestamptz
  from ${source}`

interface Requeued {
  trackerId: string
  deliveries: readonly Pick<StoredDelivery, 'createdAt' | 'id'>[]
  at: Date
}

/**
 * Moves deliveries that a page's withdrawal stopped from the history into the queue, in the
 * transaction of the caller. Returns how many. It is one statement, except on a Citus cluster,
 * where an insert cannot read a common table expression (decision 0024).
 */
export async function requeueStopped(
  database: Pick<Database, 'pool'>,
  { query }: Transaction,
  { trackerId, deliveries, at }: Requeued,
): Promise<number> {
  const selected = [
    trackerId,
    deliveries.map(({ createdAt }) => createdAt.toISOString()),
    deliveries.map(({ id }) => id),
  ]
  if (!(await isCitusCluster(database))) {
    const text = `${DELETE_STOPPED},
      queued as (${insertQueued('moved', '$4')}),
      counted as (${countPlanned('moved', 'count(*)')}),
      uncounted as (${uncountOutcomes('moved')})
      select count(*)::integer as count from moved`
    const { rows } = await query.executeQuery(CompiledQuery.raw(text, [...selected, at]))
    return (rows[0] as { count: number }).count
  }
  const deleted = await query.executeQuery(
    CompiledQuery.raw(
      `${DELETE_STOPPED} select (select count(*)::integer from moved) as count,
         ${rowsToJson(MOVED_COLUMNS, 'moved')} as moved`,
      selected,
    ),
  )
  const { count, moved } = deleted.rows[0] as { count: number; moved: string | null }
  if (count === 0) return 0
  const rowsOf = (parameter: string) => rowsFromJson(MOVED_COLUMNS, 'deliveries', parameter)
  await query.executeQuery(CompiledQuery.raw(insertQueued(rowsOf('$1'), '$2'), [moved, at]))
  await query.executeQuery(
    CompiledQuery.raw(countPlanned(rowsOf('$2'), 'count(*)'), [trackerId, moved]),
  )
  await query.executeQuery(CompiledQuery.raw(uncountOutcomes(rowsOf('$1')), [moved]))
  return count
}
