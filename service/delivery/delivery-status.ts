import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'

/**
 * Every move that a delivery's status can make; `docs/states.md` is the picture. A status with no
 * moves is final. `queued` after a failure is a replay; `queued` after `sent` gives a delivery back
 * unburnt, because the destination and not the event was refused.
 */
export const STATUS_TRANSITIONS = {
  queued: ['sent', 'skipped:consent'],
  sent: [
    'sent',
    'accepted',
    'retrying',
    'queued',
    'failed:auth',
    'failed:permanent',
    'failed:unknown',
    'expired',
    'skipped:consent',
    'skipped:duplicate',
  ],
  retrying: ['sent', 'skipped:consent'],
  'failed:auth': ['queued'],
  'failed:permanent': ['queued'],
  'failed:unknown': ['queued'],
  accepted: [],
  expired: [],
  'skipped:consent': [],
  'skipped:no_destination': [],
  'skipped:duplicate': [],
} as const satisfies Record<DeliveryStatus, readonly DeliveryStatus[]>

/** What may become of a delivery that was handed over; a settlement can be nothing else. */
export type StatusAfterSent = (typeof STATUS_TRANSITIONS.sent)[number]

/** A delivery is born in one of these. */
export const INITIAL_STATUSES: readonly DeliveryStatus[] = [
  'queued',
  'expired',
  'skipped:consent',
  'skipped:no_destination',
]

/** Waiting to be handed over, and with no worker that might be sending it. */
export const WAITING_STATUSES: readonly DeliveryStatus[] = ['queued', 'retrying']

/** A failure: the only statuses that a replay looks at. */
export const FAILED_STATUSES: readonly DeliveryStatus[] = [
  'failed:auth',
  'failed:permanent',
  'failed:unknown',
]

/** The statuses from which a delivery may come to `next`; a store's update is bound to them. */
export function statusesBefore(next: DeliveryStatus): DeliveryStatus[] {
  const statuses = Object.keys(STATUS_TRANSITIONS) as DeliveryStatus[]
  return statuses.filter(status => nextStatuses(status).includes(next))
}

/** The statuses to which a delivery may move from `status`. */
export function nextStatuses(status: DeliveryStatus): readonly DeliveryStatus[] {
  return STATUS_TRANSITIONS[status]
}
