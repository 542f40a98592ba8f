import type pg from 'pg'
import { type Database, inTransaction, isCitusCluster } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
  utcDay,
} from '../../runtime/db/sql-fragments.ts'
import {
  COUNTED_GROUP_TYPES,
  countedGroups,
  countSentExpressions,
  countSentValues,
  countSentWrites,
  type SentMark,
  type SentTally,
} from './attempt-store.ts'
import { FIXED_COLUMNS, REPLAY_COLUMNS, rowsFromJson, rowsToJson } from './delivery-store.ts'
import {
  COUNTED_ISSUE_TYPES,
  countedIssues,
  countSettled,
  countSettledStages,
  SETTLED_NAMES,
  SETTLED_TYPES,
  writeIssues,
} from './issue-store.ts'
import { insertReceipt, type NewReceipt } from './receipt-store.ts'
import { describeIssue, type Settlement } from './retry-policy.ts'
import { countSettledOutcomes } from './sent-counts-store.ts'

/** A settlement with the time that its delivery's primary key begins with. */
export type KeyedSettlement = Settlement & { createdAt: Date }

export interface SettledBatch {
  trackerId: string
  destinationId: string
  leaseEndsAt: Date
  at: Date
  settlements: readonly KeyedSettlement[]
  /** What they add to the counts of what was sent, if they still belong to this worker. */
  sent: SentTally
  /** The platform tells the result of the accepted ones later. */
  receipt?: NewReceipt | null
}

/**
 * Writes the outcome of claimed deliveries: final ones move from the queue to the history, and
 * those that are retried stay. It requires the lease, which only a delivery in `sent` has: a worker
 * whose lease expired and whose rows another worker claimed changes nothing. A delivery that was
 * never sent has no time of first sending. Returns how many it settled.
 *
 * Not prepared: it is planned for the table as it is now. A plan that was cached when there were
 * few deliveries compared every settlement with every row of the tracker, for up to 7 s. Not by
 * ctid either: a row that an erasure is changing would be missed.
 */
export async function settleDeliveries(database: Database, batch: SettledBatch): Promise<number> {
  if (batch.settlements.length === 0) return 0
  const isCluster = await isCitusCluster(database)
  if (isCluster || batch.receipt) {
    return inTransaction(database, async client => {
      const settle = isCluster ? settleInSteps : settleInOneStatement
      const count = await settle(client, batch)
      if (batch.receipt) await insertReceipt(client, batch.receipt, batch)
      return count
    })
  }
  return settleInOneStatement(database.pool, batch)
}

async function settleInOneStatement(
  client: Pick<pg.PoolClient, 'query'>,
  batch: SettledBatch,
): Promise<number> {
  const { trackerId, destinationId, at, sent } = batch
  const values = [
    ...moveSettledValues(batch),
    trackerId,
    at,
    destinationId,
    ...countSentValues(sent.groups),
  ]
  const { rows } = await client.query({ text: SETTLE, values })
  return rows[0].count
}

type SettlementRow = KeyedSettlement & {
  trackerId: string
  leaseEndsAt: Date
  mark: SentMark | undefined
}

const SETTLEMENT_COLUMNS: BatchColumn<SettlementRow>[] = [
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'created_at', type: 'timestamptz', text: ({ createdAt }) => createdAt.toISOString() },
  { name: 'id', type: 'bigint', text: ({ id }) => String(id) },
  {
    name: 'leased_until',
    type: 'timestamptz',
    text: ({ leaseEndsAt }) => leaseEndsAt.toISOString(),
  },
  { name: 'status', type: 'text', text: ({ status }) => status },
  { name: 'reason', type: 'text', text: ({ reason }) => reason },
  {
    name: 'next_attempt_at',
    type: 'timestamptz',
    text: ({ nextAttemptAt }) => nextAttemptAt?.toISOString() ?? null,
  },
  {
    name: 'replayable_until',
    type: 'timestamptz',
    text: ({ replayableUntil }) => replayableUntil?.toISOString() ?? null,
  },
  {
    name: 'is_uncounted',
    type: 'boolean',
    text: ({ isUncounted }) => (isUncounted ? 't' : 'f'),
  },
  { name: 'last_error', type: 'json', text: ({ error }) => error && JSON.stringify(error) },
  { name: 'trace_id', type: 'text', text: ({ traceId }) => traceId },
  { name: 'attempt_id', type: 'uuid', text: ({ attemptId }) => attemptId },
  {
    name: 'group_number',
    type: 'integer',
    text: ({ mark }) => (mark ? String(mark.groupNumber) : null),
  },
  { name: 'unknown', type: 'integer', text: ({ mark }) => String(mark?.unknown ?? 0) },
  { name: 'amount', type: 'numeric', text: ({ mark }) => mark?.amount ?? null },
  { name: 'issue', type: 'text', text: describeIssue },
]

const SETTLEMENTS_FROM = 2

/** The parameters of `moveSettled`. */
function moveSettledValues({
  trackerId,
  leaseEndsAt,
  at,
  settlements,
  sent,
}: SettledBatch): unknown[] {
  const rows = settlements.map(settlement => ({
    ...settlement,
    trackerId,
    leaseEndsAt,
    mark: sent.marks.get(settlement.id),
  }))
  return [at, ...toArrayParameters(SETTLEMENT_COLUMNS, rows)]
}

/** The values of the settled row, from the row in the queue and the settlement. */
const SETTLED_VALUES = {
  status: 'settlement.status',
  status_reason: 'settlement.reason',
  attempt_count: 'queue.attempt_count - case when settlement.is_uncounted then 1 else 0 end',
  first_sent_at: `case when settlement.is_uncounted and queue.attempt_count = 1 then null
    else queue.first_sent_at end`,
  last_error: 'coalesce(settlement.last_error, queue.last_error)',
  platform_trace_id: 'coalesce(settlement.trace_id, queue.platform_trace_id)',
  attempt_ids: `case when settlement.attempt_id is null then queue.attempt_ids
    else queue.attempt_ids || settlement.attempt_id end`,
  updated_at: '$1::timestamptz',
}

/** Columns that move to the history unchanged. */
const UNCHANGED_COLUMNS = [...FIXED_COLUMNS, ...REPLAY_COLUMNS]

const SETTLED_COLUMNS = [...UNCHANGED_COLUMNS, ...Object.keys(SETTLED_VALUES), 'replayable_until']
/** The history omits a reason that equals the status (docs/decisions/0025). */
function selectShortened(name: string): string {
  return name === 'status_reason' ? 'nullif(status_reason, status)' : name
}

const listSettledValues = (write: (entry: [string, string]) => string) =>
  Object.entries(SETTLED_VALUES).map(write).join(', ')

const MARK_COLUMNS =
  'settlement.group_number, settlement.unknown, settlement.amount, settlement.issue'
const OWN_ROW = `queue.tracker_id = settlement.tracker_id
      and queue.created_at = settlement.created_at and queue.id = settlement.id
      and queue.leased_until = settlement.leased_until`

const INPUT_ROWS = unnestColumns(SETTLEMENT_COLUMNS, {
  alias: 'input',
  firstParameter: SETTLEMENTS_FROM,
})

/**
 * `finished` leave the queue, `waiting` stay in it. With `trackerCondition`, Citus asks only the
 * tracker's shard: a join with a list prunes none.
 */
const moveSettled = (trackerCondition: string) => `
  with settlement as materialized (
    select * from ${INPUT_ROWS}
  ), finished as (
    delete from delivery_queue queue using settlement
    where ${OWN_ROW} and settlement.next_attempt_at is null ${trackerCondition}
    returning ${UNCHANGED_COLUMNS.map(name => `queue.${name}`).join(', ')},
      ${listSettledValues(([name, value]) => `${value} as ${name}`)},
      settlement.replayable_until, ${MARK_COLUMNS}
  ), waiting as (
    update delivery_queue queue set
      ${listSettledValues(([name, value]) => `${name} = ${value}`)},
      next_attempt_at = settlement.next_attempt_at, leased_until = null
    from settlement
    where ${OWN_ROW} and settlement.next_attempt_at is not null ${trackerCondition}
    returning queue.created_at, queue.event_id, queue.space, queue.is_test, queue.status,
      queue.status_reason, ${MARK_COLUMNS}
  ), settled as materialized (
    select ${SETTLED_NAMES} from finished
    union all
    select ${SETTLED_NAMES} from waiting
  )`

const insertFinished = (source: string) => `
    insert into deliveries (${SETTLED_COLUMNS.join(', ')})
    select ${SETTLED_COLUMNS.map(selectShortened).join(', ')} from ${source}`

/** Parameters from this one on: the tracker, the time, the destination, then the groups. */
const sentCountParameters = (parameter: number) => ({
  trackerId: `$${parameter}`,
  sentOn: utcDay(`$${parameter + 1}::timestamptz`),
  destinationId: `$${parameter + 2}`,
  firstParameter: parameter + 3,
})
const COUNT_PARAMETERS = sentCountParameters(SETTLEMENTS_FROM + SETTLEMENT_COLUMNS.length)
const ISSUE_PARAMETERS = { ...COUNT_PARAMETERS, at: '$1' }

const SETTLE = `${moveSettled('')},
  inserted as (${insertFinished('finished')}),
  counted as (${countSettled('settled', COUNT_PARAMETERS.trackerId)}),
  counted_stages as (${countSettledStages('settled', COUNT_PARAMETERS.trackerId, '$1')}),
  counted_outcomes as (${countSettledOutcomes('settled', ISSUE_PARAMETERS)}),
  ${countedIssues(ISSUE_PARAMETERS)},
  written_issues as (${writeIssues('counted_issues', ISSUE_PARAMETERS)}),
  ${countSentExpressions(COUNT_PARAMETERS)}
  select count(*) as count from settled`

const TRACKER_CONDITION = `and queue.tracker_id = ${COUNT_PARAMETERS.trackerId}::uuid`
const MOVE_ROWS = `${moveSettled(TRACKER_CONDITION)}
  select ${rowsToJson(SETTLED_COLUMNS, 'finished')} as finished,
    (select json_agg(settled) from settled)::text as settled,
    (select count(*) from settled) as count`
const INSERT_ROWS = insertFinished(rowsFromJson(SETTLED_COLUMNS, 'deliveries', '$1'))
const settledRows = (parameter: number) =>
  `json_to_recordset($${parameter}::json) as settled(${SETTLED_TYPES})`
const COUNT_ROWS = countSettled(settledRows(2), '$1')
const COUNT_STAGE_ROWS = countSettledStages(settledRows(3), '$1', '$2')
const STEP_PARAMETERS = { trackerId: '$2', at: '$3', destinationId: '$4' }
export const COUNT_OUTCOME_ROWS = countSettledOutcomes(settledRows(1), STEP_PARAMETERS)
/** The causes of settled deliveries, as JSON; then the tracker, the time and the destination. */
export const GROUP_ISSUES = `
  with settled as materialized (
    select * from ${settledRows(1)}
  ), ${countedIssues(STEP_PARAMETERS)}
  select json_agg(counted_issues)::text as issues from counted_issues`
export const WRITE_ISSUES = writeIssues(
  `json_to_recordset($1::json) as counted_issues(${COUNTED_ISSUE_TYPES})`,
  STEP_PARAMETERS,
)
const NAME_GROUPS = `
  with settled as materialized (
    select * from ${settledRows(1)}
  ), ${countedGroups(sentCountParameters(2))}
  select json_agg(counted_groups)::text as groups from counted_groups`
const GROUP_ROWS = `json_to_recordset($1::json) as counted_groups(${COUNTED_GROUP_TYPES})`
const SENT_WRITES = countSentWrites(sentCountParameters(2))

/**
 * The same writes on a Citus cluster, as statements of one transaction on the node that stores the
 * tracker: an insert that reads a common table expression would need every node
 * (docs/decisions/0024).
 */
async function settleInSteps(client: pg.PoolClient, batch: SettledBatch): Promise<number> {
  const { trackerId, destinationId, at, sent } = batch
  const moved = await client.query({
    text: MOVE_ROWS,
    values: [...moveSettledValues(batch), trackerId],
  })
  const { finished, settled, count } = moved.rows[0]
  if (count === 0) return 0
  if (finished) await client.query({ text: INSERT_ROWS, values: [finished] })
  await client.query({ text: COUNT_ROWS, values: [trackerId, settled] })
  await client.query({ text: COUNT_STAGE_ROWS, values: [trackerId, at, settled] })
  const common = [trackerId, at, destinationId]
  await client.query({ text: COUNT_OUTCOME_ROWS, values: [settled, ...common] })
  const found = await client.query({ text: GROUP_ISSUES, values: [settled, ...common] })
  const { issues } = found.rows[0]
  if (issues) await client.query({ text: WRITE_ISSUES, values: [issues, ...common] })
  const named = await client.query({
    text: NAME_GROUPS,
    values: [settled, ...common, ...countSentValues(sent.groups)],
  })
  const { groups } = named.rows[0]
  if (!groups) return count
  for (const write of [SENT_WRITES.sent, SENT_WRITES.keys, SENT_WRITES.values]) {
    await client.query({ text: write(GROUP_ROWS), values: [groups, ...common] })
  }
  return count
}
