import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'

/**
 * Every move that a delivery's status can make; `docs/states.md` is the picture. A status with no
 * moves is final. `queued` after a failure is a replay; `queued` after `sent` gives a delivery back
 * unburnt, because the destination and not the event was refused.
 */
export const STATUS_MOVES: Record<DeliveryStatus, readonly DeliveryStatus[]> = {
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
}

/** A delivery is born in one of these. */
export const BIRTH_STATUSES: readonly DeliveryStatus[] = [
  'queued',
  'expired',
  'skipped:consent',
  'skipped:no_destination',
]

/** The statuses from which a delivery may come to `next`; a store's update is bound to them. */
export function statusesBefore(next: DeliveryStatus): DeliveryStatus[] {
  const statuses = Object.keys(STATUS_MOVES) as DeliveryStatus[]
  return statuses.filter(status => STATUS_MOVES[status].includes(next))
}
