import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import {
  type BatchColumn,
  type BatchWrite,
  COUNTER_SHARD,
  toArrayParameters,
  unnestColumns,
  utcDay,
} from '../db/sql-fragments.ts'
import { type EventSpace, SPACE_NUMBERS } from '../events/event-ref.ts'

/** A delivery that is created with its event, at the same time. */
export interface PlannedDelivery {
  trackerId: string
  space: EventSpace
  eventId: string
  id: number
  destinationId: string | null
  status: DeliveryStatus
  statusReason: string
  isTest: boolean
  /** When a queued delivery is due; immediately by default. */
  dueAt?: Date
}

/** A planned delivery with the row number of its event in the statement. */
export interface NumberedDelivery extends PlannedDelivery {
  number: number
}

/** A planned delivery with the time of receipt of its event. */
export interface PlacedDelivery extends PlannedDelivery {
  createdAt: Date
}

const OWN_COLUMNS: BatchColumn<PlannedDelivery>[] = [
  { name: 'id', type: 'bigint', text: plan => String(plan.id) },
  { name: 'destination_id', type: 'uuid', text: plan => plan.destinationId },
  { name: 'status', type: 'text', text: plan => plan.status },
  { name: 'status_reason', type: 'text', text: plan => plan.statusReason },
  { name: 'is_test', type: 'boolean', text: plan => (plan.isTest ? 't' : 'f') },
  { name: 'due_at', type: 'timestamptz', text: plan => plan.dueAt?.toISOString() ?? null },
]

const NUMBERED_COLUMNS: BatchColumn<NumberedDelivery>[] = [
  { name: 'number', type: 'integer', text: plan => String(plan.number) },
  ...OWN_COLUMNS,
]

const PLACED_COLUMNS: BatchColumn<PlacedDelivery>[] = [
  { name: 'tracker_id', type: 'uuid', text: plan => plan.trackerId },
  { name: 'created_at', type: 'timestamptz', text: plan => plan.createdAt.toISOString() },
  { name: 'event_id', type: 'text', text: plan => plan.eventId },
  { name: 'space', type: 'smallint', text: plan => String(SPACE_NUMBERS[plan.space]) },
  ...OWN_COLUMNS,
]

/** Rates count neither test deliveries nor skipped ones. */
export const IS_COUNTED = `not is_test and status not like 'skipped:%'`

const STORED_COLUMNS = `tracker_id, created_at, id, event_id, space, destination_id, status,
      status_reason, is_test`

/** Queued deliveries go into the queue, and those that are final from the start into the history. */
export const PLAN_WRITES = {
  queued: {
    columns: PLACED_COLUMNS,
    from: source => `
    insert into delivery_queue (${STORED_COLUMNS}, next_attempt_at)
    select ${STORED_COLUMNS}, coalesce(due_at, created_at)
    from ${source} where status = 'queued'`,
  },
  final: {
    columns: PLACED_COLUMNS,
    from: source => `
    insert into deliveries (${STORED_COLUMNS})
    select ${STORED_COLUMNS}
    from ${source} where status <> 'queued'`,
  },
  counted_plans: {
    columns: PLACED_COLUMNS,
    from: source => `
    insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
    select tracker_id, ${utcDay('created_at')}, ${COUNTER_SHARD}, count(*), 0
    from ${source} where ${IS_COUNTED} group by 1, 2 order by 1, 2
    on conflict (tracker_id, planned_on, slot) do update
      set planned = delivery_counts.planned + excluded.planned`,
  },
} satisfies Record<string, BatchWrite<PlacedDelivery>>

/**
 * The deliveries' part of the acceptance statement. It joins `accepted`, the rows of the events
 * that are new: a duplicate plans nothing.
 */
export function planExpressions(firstParameter: number): string {
  const own = OWN_COLUMNS.map(({ name }) => `plan.${name}`).join(', ')
  return `
    planned as materialized (
      select accepted.tracker_id, accepted.created_at, accepted.event_id, accepted.space, ${own}
      from ${unnestColumns(NUMBERED_COLUMNS, { alias: 'plan', firstParameter })}
      join accepted using (number)
    ),
    ${Object.entries(PLAN_WRITES)
      .map(([name, { from }]) => `${name} as (${from('planned')})`)
      .join(',')}`
}

export function planValues(plans: readonly NumberedDelivery[]): string[] {
  return toArrayParameters(NUMBERED_COLUMNS, plans)
}
