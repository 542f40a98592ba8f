import type { Database } from '../../runtime/db/database.ts'
import { type EventRef, eventRefKey } from '../events/event-columns.ts'
import { findEventsByRef, type StoredEvent } from '../events/event-store.ts'
import { statusesBefore, WAITING_STATUSES } from './delivery-status.ts'
import { outcomeLiterals } from './delivery-store.ts'
import type { DestinationQueue } from './destination-queue-store.ts'
import { type Destination, findDestination } from './destination-store.ts'

const CLAIMABLE_STATUSES = statusesBefore('sent')
const HANDED_OVER = outcomeLiterals({ status: 'sent', reason: 'handed_over' })

interface BatchClaim {
  queue: Omit<DestinationQueue, 'platform'>
  limit: number
  claimedAt: Date
  leaseSeconds: number
}

export interface ClaimedDelivery extends EventRef {
  id: number
  isTest: boolean
  /** All attempts so far, including this one. */
  attemptCount: number
  /** Attempts since it was planned or last replayed, including this one. */
  attemptNumber: number
  /** The worker that had claimed it died: the platform may already have the event. */
  isLeaseTakeover: boolean
  /** A request with the event was answered. */
  wasAnswered: boolean
  /** It is sent under the prefixed ID: see `PAGE_ID_PREFIX`. */
  hasIdPrefix: boolean
}

/** The deliveries that one worker holds until the lease ends. */
export interface ClaimedDeliveries {
  deliveries: ClaimedDelivery[]
  /** By the database clock. It also proves that the rows still belong to the worker. */
  leaseEndsAt: Date
}

/**
 * Claims due deliveries of one queue for one worker. `skip locked` lets many workers claim in
 * parallel and never get the same row; the lease returns a delivery if its worker dies while
 * sending. The rows are either all test events or all live ones: the two never share a request.
 * Neither the status nor the lease is indexed, so a claim is a heap-only update.
 *
 * The rows are locked through the index of due times and then updated by ctid. When they were
 * joined by their key, PostgreSQL 18 read every delivery for each claim, since it expects a claim
 * to match a tenth of them: 1.0 to 2.6 s among 500,000, now 24 to 49 ms. A row that changed after
 * this statement began is not at its ctid any more; the next claim finds it.
 *
 * The lease is written and compared by the database clock alone. The clocks of two machines can
 * differ, and a clock that is set forward must not end the lease of a request in flight.
 */
export async function claimDeliveries(
  { pool }: Database,
  { queue, limit, claimedAt, leaseSeconds }: BatchClaim,
): Promise<ClaimedDeliveries> {
  const { trackerId, destinationId } = queue
  const { rows } = await pool.query({
    name: 'claim-deliveries',
    text: `with due as materialized (
             select ctid as row_position, status = 'sent' as is_lease_takeover
             from delivery_queue
             where tracker_id = $1::uuid and destination_id = $2::uuid
               and next_attempt_at <= $3::timestamptz
               and (leased_until is null or leased_until <= statement_timestamp())
               and status = any($6::text[])
               and is_test = (
                 select is_test from delivery_queue
                 where tracker_id = $1::uuid and destination_id = $2::uuid
                   and next_attempt_at <= $3::timestamptz
                   and (leased_until is null or leased_until <= statement_timestamp())
                 order by next_attempt_at limit 1
               )
             order by next_attempt_at limit $4::integer
             for update skip locked
           )
           update delivery_queue set ${assignClaim('$3', '$5')}
           from due
           where delivery_queue.ctid = due.row_position and delivery_queue.tracker_id = $1::uuid
           returning ${CLAIMED_COLUMNS}, due.is_lease_takeover`,
    values: [trackerId, destinationId, claimedAt, limit, leaseSeconds, CLAIMABLE_STATUSES],
  })
  return toClaimedDeliveries(rows)
}

interface SingleClaim {
  trackerId: string
  createdAt: Date
  id: number
  claimedAt: Date
  leaseSeconds: number
}

/**
 * Claims one delivery that was just planned, due or not. Returns none when another worker holds
 * it, or held it and died: the queue then claims it, which records the takeover.
 */
export async function claimDelivery(
  { pool }: Database,
  { trackerId, createdAt, id, claimedAt, leaseSeconds }: SingleClaim,
): Promise<ClaimedDeliveries> {
  const { rows } = await pool.query({
    name: 'claim-delivery',
    text: `update delivery_queue set ${assignClaim('$4', '$5')}
           where tracker_id = $1::uuid and created_at = $2::timestamptz and id = $3::bigint
             and leased_until is null and status = any($6::text[])
           returning ${CLAIMED_COLUMNS}, false as is_lease_takeover`,
    values: [trackerId, createdAt, id, claimedAt, leaseSeconds, WAITING_STATUSES],
  })
  return toClaimedDeliveries(rows)
}

/** The lease has milliseconds, which a `Date` can represent, to be compared when settling. */
function assignClaim(claimedAt: string, leaseSeconds: string): string {
  return `
    status = ${HANDED_OVER.status}, status_reason = ${HANDED_OVER.reason},
    attempt_count = attempt_count + 1,
    leased_until = date_trunc('milliseconds', statement_timestamp())
      + make_interval(secs => ${leaseSeconds}::double precision),
    first_sent_at = coalesce(first_sent_at, ${claimedAt}::timestamptz),
    updated_at = ${claimedAt}::timestamptz`
}

const CLAIMED_COLUMNS = `delivery_queue.event_id, delivery_queue.space, delivery_queue.created_at,
  delivery_queue.id, delivery_queue.is_test, delivery_queue.attempt_count,
  delivery_queue.attempts_before_replay, delivery_queue.leased_until,
  delivery_queue.attempt_ids <> '{}' as was_answered, delivery_queue.has_id_prefix`

interface ClaimedRow {
  event_id: string
  space: number
  created_at: Date
  id: number
  is_test: boolean
  attempt_count: number
  attempts_before_replay: number
  leased_until: Date
  is_lease_takeover: boolean
  was_answered: boolean
  has_id_prefix: boolean | null
}

function toClaimedDeliveries(rows: readonly ClaimedRow[]): ClaimedDeliveries {
  return {
    deliveries: rows.map(row => ({
      eventId: row.event_id,
      space: row.space,
      createdAt: row.created_at,
      id: row.id,
      isTest: row.is_test,
      attemptCount: row.attempt_count,
      attemptNumber: row.attempt_count - row.attempts_before_replay,
      isLeaseTakeover: row.is_lease_takeover,
      wasAnswered: row.was_answered,
      hasIdPrefix: row.has_id_prefix === true,
    })),
    leaseEndsAt: rows[0]?.leased_until ?? new Date(0),
  }
}

/** Deliveries of one queue that this worker holds until the lease ends. */
export interface ClaimedBatch {
  destination: Destination
  /** Either all of them are test events, or none is. */
  isTest: boolean
  /** By the database clock. It also proves that the rows still belong to this worker. */
  leaseEndsAt: Date
  /** By this process's monotonic clock: when to stop starting requests. */
  leaseEndsAtSeconds: number
  claimed: Map<number, ClaimedDelivery>
  /** By delivery id. */
  events: Map<number, StoredEvent>
}

interface BatchInput {
  trackerId: string
  destinationId: string
  claimed: ClaimedDeliveries
  leaseEndsAtSeconds: number
}

/** Reads the claimed events, and the destination with its credential still sealed. */
export async function loadClaimedBatch(
  database: Database,
  { trackerId, destinationId, claimed, leaseEndsAtSeconds }: BatchInput,
): Promise<ClaimedBatch> {
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination) throw new Error(`destination ${destinationId} does not exist`)
  const { deliveries, leaseEndsAt } = claimed
  const events = await findEventsByRef(database, trackerId, deliveries)
  const eventsByKey = new Map(events.map(event => [eventRefKey(event), event]))
  return {
    destination,
    isTest: deliveries.some(({ isTest }) => isTest),
    leaseEndsAt,
    leaseEndsAtSeconds,
    claimed: new Map(deliveries.map(delivery => [delivery.id, delivery])),
    events: new Map(
      deliveries.flatMap(delivery => {
        const event = eventsByKey.get(eventRefKey(delivery))
        return event ? [[delivery.id, event]] : []
      }),
    ),
  }
}
