import { keysOf } from '@signalbox/contract/closed-set.ts'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'

/**
 * Every transition of a delivery's status; `docs/states.md` draws them. A status without
 * transitions is final. `queued` after a failure is a replay. `queued` after `sent` returns a
 * delivery to the queue without counting the attempt, because the platform rejected the destination
 * and not the event.
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
    'skipped:no_destination',
    'skipped:duplicate',
    'skipped:not_selected',
  ],
  retrying: ['sent', 'skipped:consent'],
  'failed:auth': ['queued'],
  'failed:permanent': ['queued'],
  'failed:unknown': ['queued'],
  // The platform took the request, and said later that it processed none of it.
  accepted: ['failed:permanent'],
  expired: [],
  // A page's withdrawal was lifted.
  'skipped:consent': ['queued'],
  'skipped:no_destination': [],
  'skipped:duplicate': [],
  'skipped:not_selected': [],
} as const satisfies Record<DeliveryStatus, readonly DeliveryStatus[]>

/** The statuses that a settlement can set. */
export type StatusAfterSent = (typeof STATUS_TRANSITIONS.sent)[number]

/** The statuses of a new delivery. */
export const INITIAL_STATUSES = [
  'queued',
  'expired',
  'skipped:consent',
  'skipped:no_destination',
  'skipped:not_selected',
] as const satisfies readonly DeliveryStatus[]
export type InitialStatus = (typeof INITIAL_STATUSES)[number]

/** Waiting to be sent, and claimed by no worker. */
export const WAITING_STATUSES: readonly DeliveryStatus[] = ['queued', 'retrying']

/** Failures: the only statuses that a replay reads. */
export const FAILED_STATUSES: readonly DeliveryStatus[] = [
  'failed:auth',
  'failed:permanent',
  'failed:unknown',
]

/** The statuses that a status can change to. */
export function nextStatuses(status: DeliveryStatus): readonly DeliveryStatus[] {
  return STATUS_TRANSITIONS[status]
}

/** The statuses that can change to `next`; an update in the store is bound to them. */
export function statusesBefore(next: DeliveryStatus): DeliveryStatus[] {
  return keysOf(STATUS_TRANSITIONS).filter(status => nextStatuses(status).includes(next))
}
