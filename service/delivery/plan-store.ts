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
  {
    name: 'next_attempt_at',
    type: 'timestamptz',
    text: plan => (plan.status === 'queued' ? (plan.dueAt ?? plan.createdAt).toISOString() : null),
  },
  { name: 'created_at', type: 'timestamptz', text: plan => plan.createdAt.toISOString() },
]

/** Test deliveries and skipped ones are in no rate. */
export const IS_COUNTED = `not is_test and status not like 'skipped:%'`

/**
 * The deliveries' part of the acceptance statement. It joins `inserted`, the keys of the events
 * that are new: a repeated event plans nothing.
 */
export function planExpressions(firstParameter: number): string {
  const names = COLUMNS.map(({ name }) => name).join(', ')
  const qualified = COLUMNS.map(({ name }) => `plan.${name}`).join(', ')
  return `
    planned as (
      insert into deliveries (${names})
      select ${qualified}
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
