import { COUNT_SLOT, utcDay } from '../db/count-slot.ts'
import type { Database } from '../db/database.ts'
import { arraysOf, type BatchColumn, unnestOf } from '../db/row-arrays.ts'
import { countSentExpressions, countSentValues } from './sent-counts-store.ts'
import type { SentMark, SentTally } from './sent-tally.ts'
import type { Settlement } from './settlement.ts'
import { ADD_COUNTS } from './store.ts'

export interface SettledBatch {
  trackerId: string
  destinationId: string
  leaseEndsAt: Date
  at: Date
  settlements: readonly Settlement[]
  /** What they add to the counts of what was sent, as far as they are still this worker's. */
  sent: SentTally
}

/**
 * Writes what became of claimed deliveries. Bound to the lease, which only a delivery in `sent`
 * has: a worker whose lease ran out, and whose rows another worker has taken, changes nothing. A
 * delivery that was never really sent has no time of first sending. Returns how many it settled.
 *
 * Not prepared: it is planned for the table as it is now. A plan that was kept from when there were
 * few deliveries compared every settlement with every row of the tracker, for up to 7 s. Not by
 * ctid either: a row that an erasure is changing at this moment would be missed. The tracker and
 * the lease come beside the keys, since a plain condition makes the planner expect a single row.
 */
export async function settleDeliveries(
  { pool }: Database,
  { trackerId, destinationId, leaseEndsAt, at, settlements, sent }: SettledBatch,
): Promise<number> {
  if (settlements.length === 0) return 0
  const { rows } = await pool.query({
    text: SETTLE,
    values: [
      trackerId,
      at,
      destinationId,
      ...arraysOf(
        SETTLEMENT_COLUMNS,
        settlements.map(settlement => ({
          ...settlement,
          trackerId,
          leaseEndsAt,
          mark: sent.marks.get(settlement.id),
        })),
      ),
      ...countSentValues(sent.groups),
    ],
  })
  return rows[0].count
}

interface SettlementRow extends Settlement {
  trackerId: string
  leaseEndsAt: Date
  mark: SentMark | undefined
}

const SETTLEMENT_COLUMNS: BatchColumn<SettlementRow>[] = [
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'event_id', type: 'text', text: ({ eventId }) => eventId },
  { name: 'id', type: 'integer', text: ({ id }) => String(id) },
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
  { name: 'is_unburnt', type: 'boolean', text: ({ isUnburnt }) => (isUnburnt ? 't' : 'f') },
  { name: 'last_error', type: 'json', text: ({ error }) => error && JSON.stringify(error) },
  { name: 'trace_id', type: 'text', text: ({ traceId }) => traceId },
  { name: 'attempt_id', type: 'uuid', text: ({ attemptId }) => attemptId },
  {
    name: 'group_number',
    type: 'integer',
    text: ({ mark }) => (mark ? String(mark.groupNumber) : null),
  },
  { name: 'unknown', type: 'integer', text: ({ mark }) => String(mark?.unknown ?? 0) },
]

const SETTLEMENTS_FROM = 4

const COUNT_SENT = countSentExpressions({
  trackerId: '$1',
  destinationId: '$3',
  sentOn: utcDay('$2::timestamptz'),
  firstParameter: SETTLEMENTS_FROM + SETTLEMENT_COLUMNS.length,
})

const SETTLE = `
  with settled as (
    update deliveries set
      status = settled.status, status_reason = settled.reason,
      next_attempt_at = settled.next_attempt_at, leased_until = null,
      replayable_until = settled.replayable_until,
      attempt_count = attempt_count - case when settled.is_unburnt then 1 else 0 end,
      first_sent_at = case when settled.is_unburnt and attempt_count = 1 then null
                           else first_sent_at end,
      last_error = coalesce(settled.last_error, deliveries.last_error),
      platform_trace_id = coalesce(settled.trace_id, deliveries.platform_trace_id),
      attempt_ids = case when settled.attempt_id is null then attempt_ids
                         else attempt_ids || settled.attempt_id end,
      updated_at = $2
    from ${unnestOf(SETTLEMENT_COLUMNS, { alias: 'settled', firstParameter: SETTLEMENTS_FROM })}
    where deliveries.tracker_id = settled.tracker_id
      and deliveries.event_id = settled.event_id and deliveries.id = settled.id
      and deliveries.leased_until = settled.leased_until
    returning deliveries.created_at, deliveries.is_test, deliveries.status,
      settled.group_number, settled.unknown
  ), counted as (
    insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
    select $1, ${utcDay('created_at')}, ${COUNT_SLOT},
      -count(*) filter (where status = 'skipped:consent'),
      count(*) filter (where status = 'accepted')
    from settled where not is_test and status in ('accepted', 'skipped:consent')
    group by 2 order by 2
    ${ADD_COUNTS}
  ), ${COUNT_SENT}
  select count(*) as count from settled`
