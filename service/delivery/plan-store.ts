import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { COUNT_SLOT, utcDay } from '../db/count-slot.ts'
import { arraysOf, type BatchColumn, unnestOf } from '../db/row-arrays.ts'
import type { EventSpace } from '../ledger/event-space.ts'

/** A delivery that is made together with its event, and at the same time. */
export interface PlannedDelivery {
  trackerId: string
  space: EventSpace
  eventId: string
  id: number
  destinationId: string | null
  status: DeliveryStatus
  statusReason: string
  isTest: boolean
  /** When a queued delivery is due; as soon as it is created when left out. */
  dueAt?: Date
}

/** With the number of its event's entry in the statement. */
export interface NumberedDelivery extends PlannedDelivery {
  number: number
}

const COLUMNS: BatchColumn<NumberedDelivery>[] = [
  { name: 'number', type: 'integer', text: plan => String(plan.number) },
  { name: 'id', type: 'bigint', text: plan => String(plan.id) },
  { name: 'destination_id', type: 'uuid', text: plan => plan.destinationId },
  { name: 'status', type: 'text', text: plan => plan.status },
  { name: 'status_reason', type: 'text', text: plan => plan.statusReason },
  { name: 'is_test', type: 'boolean', text: plan => (plan.isTest ? 't' : 'f') },
  { name: 'due_at', type: 'timestamptz', text: plan => plan.dueAt?.toISOString() ?? null },
]

/** Test deliveries and skipped ones are in no rate. */
export const IS_COUNTED = `not is_test and status not like 'skipped:%'`

/**
 * The deliveries' part of the acceptance statement. It joins `accepted`, the entries of the events
 * that are new: a repeated event plans nothing. What is queued goes into the queue, and what is
 * final from the start into the history.
 */
export function planExpressions(firstParameter: number): string {
  return `
    planned as materialized (
      select accepted.tracker_id, accepted.created_at, plan.id, accepted.event_id, accepted.space,
        plan.destination_id, plan.status, plan.status_reason, plan.is_test, plan.due_at
      from ${unnestOf(COLUMNS, { alias: 'plan', firstParameter })}
      join accepted using (number)
    ),
    queued as (
      insert into delivery_queue
        (tracker_id, created_at, id, event_id, space, destination_id, status, status_reason,
         is_test, next_attempt_at)
      select tracker_id, created_at, id, event_id, space, destination_id, status, status_reason,
        is_test, coalesce(due_at, created_at)
      from planned where status = 'queued'
    ),
    final as (
      insert into deliveries
        (tracker_id, created_at, id, event_id, space, destination_id, status, status_reason,
         is_test)
      select tracker_id, created_at, id, event_id, space, destination_id, status, status_reason,
        is_test
      from planned where status <> 'queued'
    ),
    counted_plans as (
      insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
      select tracker_id, ${utcDay('created_at')}, ${COUNT_SLOT}, count(*), 0
      from planned where ${IS_COUNTED} group by 1, 2 order by 1, 2
      on conflict (tracker_id, planned_on, slot) do update
        set planned = delivery_counts.planned + excluded.planned
    )`
}

export function planValues(plans: readonly NumberedDelivery[]): string[] {
  return arraysOf(COLUMNS, plans)
}
