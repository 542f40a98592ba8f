import type { Database } from '../db/database.ts'
import { type EventRef, eventRefKey } from '../events/event-ref.ts'
import { findEventsByRef, type StoredEvent } from '../events/store.ts'
import { statusesBefore, WAITING_STATUSES } from './delivery-status.ts'
import type { DestinationQueue } from './destination-queue-store.ts'
import { type Destination, findDestination } from './destination-store.ts'

interface Claim {
  queue: Omit<DestinationQueue, 'platform'>
  limit: number
  claimedAt: Date
  leaseSeconds: number
}

export interface ClaimedDelivery extends EventRef {
  id: number
  isTest: boolean
  /** Attempts of all time, this one included. */
  attemptCount: number
  /** Attempts since it was planned or last replayed, this one included. */
  attemptNumber: number
  /** Another worker had it and died: the platform may or may not have the event. */
  isLeaseTakeover: boolean
}

/** What one worker has until the lease ends. */
export interface ClaimedDeliveries {
  deliveries: ClaimedDelivery[]
  /** On the store's clock, and the worker's proof that the rows are still its own. */
  leaseEndsAt: Date
}

/**
 * Claims due deliveries of one lane for one worker. `skip locked` lets many workers ask at once
 * and never receive the same row; the lease brings a delivery back if its worker dies mid-send.
 * All rows are test events or none is: the two never share a request. Neither the status nor the
 * lease is in an index, so a claim is a heap-only update.
 *
 * The rows are locked by the index of due times and then updated where they lie. Joined by their
 * key instead, PostgreSQL 18 read all deliveries there are for each claim, since it expects a claim
 * to take a tenth of them: 1.0 to 2.6 s among 500,000, now 24 to 49 ms. A row that was changed
 * after this statement began is not found where it was; the next claim takes it.
 *
 * The lease is written and compared on the store's clock alone. The clocks of two machines may
 * differ, and one that is set forward must not end the lease of a request that is under way.
 */
export async function claimDeliveries(
  { pool }: Database,
  { queue: lane, limit, claimedAt, leaseSeconds }: Claim,
): Promise<ClaimedDeliveries> {
  const { rows } = await pool.query({
    name: 'claim-deliveries',
    text: `with due as materialized (
             select ctid as place, status = 'sent' as is_taken_up from delivery_queue
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
           update delivery_queue set ${handOver('$3', '$5')}
           from due
           where delivery_queue.ctid = due.place and delivery_queue.tracker_id = $1::uuid
           returning ${CLAIMED_COLUMNS}, due.is_taken_up`,
    values: [
      lane.trackerId,
      lane.destinationId,
      claimedAt,
      limit,
      leaseSeconds,
      statusesBefore('sent'),
    ],
  })
  return claimedOf(rows)
}

interface SingleClaim {
  trackerId: string
  createdAt: Date
  id: number
  claimedAt: Date
  leaseSeconds: number
}

/**
 * Claims one delivery that was just planned, due or not. Empty when another worker has it, or had
 * it and died: then the lane takes it up, which tells that from a first attempt.
 */
export async function claimDelivery(
  { pool }: Database,
  { trackerId, createdAt, id, claimedAt, leaseSeconds }: SingleClaim,
): Promise<ClaimedDeliveries> {
  const { rows } = await pool.query({
    name: 'claim-delivery',
    text: `update delivery_queue set ${handOver('$4', '$5')}
           where tracker_id = $1::uuid and created_at = $2::timestamptz and id = $3::bigint
             and leased_until is null and status = any($6::text[])
           returning ${CLAIMED_COLUMNS}, false as is_taken_up`,
    values: [trackerId, createdAt, id, claimedAt, leaseSeconds, WAITING_STATUSES],
  })
  return claimedOf(rows)
}

/** Milliseconds, because that is what a `Date` can give back to prove the lease. */
function handOver(claimedAt: string, leaseSeconds: string): string {
  return `
    status = 'sent', status_reason = 'handed_over', attempt_count = attempt_count + 1,
    leased_until = date_trunc('milliseconds', statement_timestamp())
      + make_interval(secs => ${leaseSeconds}::double precision),
    first_sent_at = coalesce(first_sent_at, ${claimedAt}::timestamptz),
    updated_at = ${claimedAt}::timestamptz`
}

const CLAIMED_COLUMNS = `delivery_queue.event_id, delivery_queue.space, delivery_queue.created_at,
  delivery_queue.id, delivery_queue.is_test, delivery_queue.attempt_count,
  delivery_queue.attempts_before_replay, delivery_queue.leased_until`

interface ClaimedRow {
  event_id: string
  space: number
  created_at: Date
  id: number
  is_test: boolean
  attempt_count: number
  attempts_before_replay: number
  leased_until: Date
  is_taken_up: boolean
}

function claimedOf(rows: readonly ClaimedRow[]): ClaimedDeliveries {
  return {
    deliveries: rows.map(row => ({
      eventId: row.event_id,
      space: row.space,
      createdAt: row.created_at,
      id: row.id,
      isTest: row.is_test,
      attemptCount: row.attempt_count,
      attemptNumber: row.attempt_count - row.attempts_before_replay,
      isLeaseTakeover: row.is_taken_up,
    })),
    leaseEndsAt: rows[0]?.leased_until ?? new Date(0),
  }
}

/** Deliveries of one lane that this worker has until the lease ends. */
export interface ClaimedBatch {
  destination: Destination
  /** All of them are test events, or none is. */
  isTest: boolean
  /** On the store's clock: the proof that the rows are still this worker's. */
  leaseEndsAt: Date
  /** On this process's steady clock: when to stop beginning requests. */
  leaseEndsAtSeconds: number
  claimed: Map<number, ClaimedDelivery>
  /** By the id of their delivery. */
  events: Map<number, StoredEvent>
}

interface BatchInput {
  trackerId: string
  destinationId: string
  claimed: ClaimedDeliveries
  leaseEndsAtSeconds: number
}

/** Reads what was claimed: the events, and the destination with its credential still sealed. */
export async function loadClaimedBatch(
  database: Database,
  { trackerId, destinationId, claimed, leaseEndsAtSeconds }: BatchInput,
): Promise<ClaimedBatch> {
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination) throw new Error(`destination ${destinationId} is gone`)
  const { deliveries, leaseEndsAt } = claimed
  const events = await findEventsByRef(database, trackerId, deliveries)
  const byPlace = new Map(events.map(event => [eventRefKey(event), event]))
  return {
    destination,
    isTest: deliveries.some(({ isTest }) => isTest),
    leaseEndsAt,
    leaseEndsAtSeconds,
    claimed: new Map(deliveries.map(delivery => [delivery.id, delivery])),
    events: new Map(
      deliveries.flatMap(delivery => {
        const event = byPlace.get(eventRefKey(delivery))
        return event ? [[delivery.id, event]] : []
      }),
    ),
  }
}
