import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { COUNT_SLOT, utcDay } from '../db/count-slot.ts'
import { arraysOf, type BatchColumn, unnestOf } from '../db/row-arrays.ts'

/** A delivery that is made together with its event. */
export interface PlannedDelivery {
  trackerId: string
  eventId: string
  id: number
  destinationId: string | null
  status: DeliveryStatus
  statusReason: string
  isTest: boolean
  createdAt: Date
  /** When a queued delivery is due; as soon as it is created when left out. */
  dueAt?: Date
}

const COLUMNS: BatchColumn<PlannedDelivery>[] = [
  { name: 'tracker_id', type: 'uuid', text: plan => plan.trackerId },
  { name: 'event_id', type: 'text', text: plan => plan.eventId },
  { name: 'id', type: 'integer', text: plan => String(plan.id) },
  { name: 'destination_id', type: 'uuid', text: plan => plan.destinationId },
  { name: 'status', type: 'text', text: plan => plan.status },
  { name: 'status_reason', type: 'text', text: plan => plan.statusReason },
  { name: 'is_test', type: 'boolean', text: plan => (plan.isTest ? 't' : 'f') },
  { name: 'created_at', type: 'timestamptz', text: plan => plan.createdAt.toISOString() },
  { name: 'due_at', type: 'timestamptz', text: plan => plan.dueAt?.toISOString() ?? null },
]

/** Test deliveries and skipped ones are in no rate. */
export const IS_COUNTED = `not is_test and status not like 'skipped:%'`

/**
 * The deliveries' part of the acceptance statement. It joins `inserted`, the keys of the events
 * that are new: a repeated event plans nothing.
 */
export function planExpressions(firstParameter: number): string {
  return `
    planned as (
      insert into deliveries
        (tracker_id, event_id, id, destination_id, status, status_reason, is_test,
         next_attempt_at, created_at)
      select tracker_id, event_id, plan.id, plan.destination_id, plan.status, plan.status_reason,
        plan.is_test,
        case when plan.status = 'queued' then coalesce(plan.due_at, plan.created_at) end,
        plan.created_at
      from ${unnestOf(COLUMNS, { alias: 'plan', firstParameter })}
      join inserted using (tracker_id, event_id)
      returning tracker_id, created_at, status, is_test
    ),
    counted_plans as (
      insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
      select tracker_id, ${utcDay('created_at')}, ${COUNT_SLOT}, count(*), 0
      from planned where ${IS_COUNTED} group by 1, 2 order by 1, 2
      on conflict (tracker_id, planned_on, slot) do update
        set planned = delivery_counts.planned + excluded.planned
    )`
}

export function planValues(plans: readonly PlannedDelivery[]): string[] {
  return arraysOf(COLUMNS, plans)
}
