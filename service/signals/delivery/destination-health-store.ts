import { sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import type { StoredAttempt } from './attempt-store.ts'
import {
  type Backoff,
  type Destination,
  type DestinationKey,
  destinationOf,
} from './destination-store.ts'

interface UsedDestination {
  trackerId: string
  destinationId: string
  /** The credential that was used. The answer proves nothing about a newer one. */
  sealedCredential: Buffer
  at: Date
}

interface DestinationPause extends UsedDestination {
  reason: string | null
  nextProbeAt: Date
}

/**
 * Pauses a destination that the platform rejects: its deliveries wait, and probes follow. False
 * when it was inactive already, or has another credential by now.
 */
export async function pauseDestination(
  { query }: Database,
  pause: DestinationPause,
): Promise<boolean> {
  const changed = await query
    .updateTable('destinations')
    .set({
      status: 'inactive',
      status_reason: pause.reason,
      next_probe_at: pause.nextProbeAt,
      failed_probes: 0,
      updated_at: pause.at,
    })
    .where('tracker_id', '=', pause.trackerId)
    .where('id', '=', pause.destinationId)
    .where('status', '=', 'active')
    .where('sealed_credential', '=', pause.sealedCredential)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

/** A probe failed: the destination stays inactive until a later one. */
export async function postponeProbe({ query }: Database, pause: DestinationPause): Promise<void> {
  await query
    .updateTable('destinations')
    .set({
      status_reason: pause.reason,
      next_probe_at: pause.nextProbeAt,
      failed_probes: sql`failed_probes + 1`,
      updated_at: pause.at,
    })
    .where('tracker_id', '=', pause.trackerId)
    .where('id', '=', pause.destinationId)
    .where('status', '=', 'inactive')
    .where('paused_at', 'is', null)
    .where('sealed_credential', '=', pause.sealedCredential)
    .execute()
}

/**
 * Activates the destination. False when it was active already, has another credential, or a person
 * paused it.
 */
export async function resumeDestination(
  { query }: Database,
  probed: UsedDestination,
): Promise<boolean> {
  const changed = await query
    .updateTable('destinations')
    .set({
      status: 'active',
      status_reason: null,
      next_probe_at: null,
      failed_probes: 0,
      updated_at: probed.at,
    })
    .where('tracker_id', '=', probed.trackerId)
    .where('id', '=', probed.destinationId)
    .where('status', '=', 'inactive')
    .where('paused_at', 'is', null)
    .where('sealed_credential', '=', probed.sealedCredential)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

/**
 * Lets the workers try a destination that the platform rejected at once. Returns null when the
 * tracker has no such destination; an active one, and one that a person paused, do not change.
 */
export async function scheduleProbe(
  { query }: Transaction,
  { trackerId, destinationId, at }: DestinationKey & { at: Date },
): Promise<Destination | null> {
  await query
    .updateTable('destinations')
    .set({ next_probe_at: at })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .where('status', '=', 'inactive')
    .where('paused_at', 'is', null)
    .execute()
  const row = await query
    .selectFrom('destinations')
    .selectAll()
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .executeTakeFirst()
  return row ? destinationOf(row) : null
}

/** Records that a worker sends nothing until a time. An outage keeps its beginning. */
export async function recordBackoff(
  { query }: Database,
  { trackerId, destinationId }: DestinationKey,
  { cause, since, until }: Backoff,
): Promise<void> {
  await query
    .updateTable('destinations')
    .set({
      backoff_cause: cause,
      backoff_since: sql`case when backoff_cause = 'unreachable' and ${cause}::text = 'unreachable'
        then backoff_since else ${since}::timestamptz end`,
      backoff_until: until,
    })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .execute()
}

/** A request reached the platform again. A pause that the platform asked for goes on. */
export async function clearOutage(
  { query }: Database,
  { trackerId, destinationId }: DestinationKey,
): Promise<void> {
  await query
    .updateTable('destinations')
    .set({ backoff_cause: null, backoff_since: null, backoff_until: null })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .where('backoff_cause', '=', 'unreachable')
    .execute()
}

/** Waiting deliveries that are read of each destination. With more, counts are lower bounds. */
const WAITING_READ_MAX = 10_000

export interface QueueDepth {
  waiting: number
  retrying: number
  inFlight: number
  isLowerBound: boolean
  /** When the oldest event that was read was received; null when nothing waits. */
  oldestAt: Date | null
  nextAttemptAt: Date | null
}

interface DestinationsOfTracker {
  trackerId: string
  destinationIds: readonly string[]
}

/**
 * What waits for each destination. It reads the queue in the order of the queue index and stops at
 * a limit, so a backlog of millions costs no more than one of ten thousand.
 */
export async function readQueueDepths(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, destinationIds }: DestinationsOfTracker,
): Promise<Map<string, QueueDepth>> {
  const { rows } = await pool.query({
    name: 'read-queue-depths',
    text: `select given.id, depth.* from unnest($2::uuid[]) as given(id)
           cross join lateral (
             select count(*) as waiting,
               count(*) filter (where status = 'retrying') as retrying,
               count(*) filter (where status = 'sent') as in_flight,
               min(created_at) as oldest_at, min(next_attempt_at) as next_attempt_at
             from (
               select status, created_at, next_attempt_at from delivery_queue
               where tracker_id = $1::uuid and destination_id = given.id
               order by next_attempt_at limit ${WAITING_READ_MAX}
             ) first
           ) depth`,
    values: [trackerId, arrayLiteral(destinationIds)],
  })
  return new Map(
    rows.map(row => [
      row.id,
      {
        waiting: row.waiting,
        retrying: row.retrying,
        inFlight: row.in_flight,
        isLowerBound: row.waiting === WAITING_READ_MAX,
        oldestAt: row.oldest_at,
        nextAttemptAt: row.next_attempt_at,
      },
    ]),
  )
}

/** Requests of the tracker that are searched for the last one of a destination, newest first. */
const ATTEMPTS_READ_MAX = 5_000

export interface LastAttempt extends StoredAttempt {
  isTest: boolean
}

/** The last request to each destination that is among the newest requests of the tracker. */
export async function findLastAttempts(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, destinationIds }: DestinationsOfTracker,
): Promise<Map<string, LastAttempt>> {
  const { rows } = await pool.query({
    name: 'find-last-attempts',
    text: `select last.* from unnest($2::uuid[]) as given(id)
           cross join lateral (
             select * from (
               select * from send_attempts where tracker_id = $1::uuid
               order by started_at desc, id desc limit ${ATTEMPTS_READ_MAX}
             ) newest
             where destination_id = given.id
             order by started_at desc, id desc limit 1
           ) last`,
    values: [trackerId, arrayLiteral(destinationIds)],
  })
  return new Map(
    rows.map(row => [
      row.destination_id,
      {
        id: row.id,
        startedAt: row.started_at,
        durationMilliseconds: row.duration_milliseconds,
        eventCount: row.event_count,
        isTest: row.is_test,
        outcome: row.outcome,
        httpStatus: row.http_status,
        traceId: row.trace_id,
        answer: row.answer,
      },
    ]),
  )
}
