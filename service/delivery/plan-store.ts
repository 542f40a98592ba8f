import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
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

/**
 * The deliveries' part of the acceptance statement. It joins `inserted`, the keys of the events
 * that are new: a repeated event plans nothing.
 */
export function planExpressions(firstParameter: number): string {
  const names = COLUMNS.map(({ name }) => name).join(', ')
  return `
    planned as (
      insert into deliveries (${names})
      select ${names}
      from ${unnestOf(COLUMNS, { alias: 'plan', firstParameter })}
      join inserted using (tracker_id, event_id)
    )`
}

export function planValues(plans: readonly PlannedDelivery[]): string[] {
  return arraysOf(COLUMNS, plans)
}
